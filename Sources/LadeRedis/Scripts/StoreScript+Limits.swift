extension StoreScript {
    /// Reserves slots; `KEYS[4]` is the limit, the others as for the census.
    ///
    /// `ARGV`, first the member's: its name, most members known, lapse, forget, interval, burst. Then the ask's: slots wanted,
    /// witness, holds none, horizon, time for which a new store is careful. Then the limit's: digest, readable key, most slots,
    /// birth of the store known. Last the slots that the first call lacks, which a member gets whole when it cannot start without.
    ///
    /// `top` is the latest end of a block. A witness beyond it proves a loss; one beyond `tat` alone does not, because corrected
    /// costs move `tat` back.
    static let askText = """
        local me, known, lapse, forget = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
        local I, b, wanted = tonumber(ARGV[5]), tonumber(ARGV[6]), math.min(tonumber(ARGV[7]), tonumber(ARGV[14]))
        local witness, H, Q = tonumber(ARGV[8]), tonumber(ARGV[10]), tonumber(ARGV[11])
        local n, a, born = census(me, known, lapse, forget, ARGV[15])
        local f = fields(KEYS[4], 'tat', 'iv', 'iw', 'it', 'seen', 'top')
        local tat, iv, iw, it, seen = tonumber(f[1] or ''), tonumber(f[2] or ''), f[3], tonumber(f[4] or ''), tonumber(f[5] or '')
        local top = tonumber(f[6] or '') or tat
        if tat and seen and seen - now > 1000 then
          tat, top = tat - (seen - now), top - (seen - now)
          it = it and it - (seen - now)
        end
        local differs = 0
        if iv and iw ~= me and it and now - it <= forget and iv ~= I then differs = 1 end
        if not iv or I >= iv or iw == me or not it or now - it > forget then
          iv, iw, it = I, me, now
        end
        I = iv
        local E = I * n / a
        local lost = 0
        if not tat then
          tat = now
          if now - born < Q then tat = now + H + (b - 1) * E end
        end
        local w = math.min(witness, now + math.max(H, n * I) + b * I)
        if w > (top or tat) + 1 then
          tat = math.max(w, now + H)
          lost = 1
        end
        local g = redis.pcall('HGET', KEYS[3], ARGV[12])
        local gate = type(g) == 'string' and tonumber(string.match(g, '^(%d+) ')) or 0
        if gate > now then tat = math.max(tat, gate + (b - 1) * I) else gate = 0 end
        local base = math.max(tat, now)
        local k = math.min(wanted, math.floor((now + H - base) / E) + b, math.max(1, math.floor(H / (E * a))))
        local least = tonumber(ARGV[16])
        if k < least then k = ARGV[9] == '1' and least or 0 end
        if k > 0 then tat = math.ceil(base + k * E) end
        redis.call('HSET', KEYS[4], 'tat', s(tat), 'iv', ARGV[5], 'iw', iw, 'it', s(it), 'seen', s(now), 'name', ARGV[13],
          'top', s(math.max(top or tat, tat)))
        if iv ~= tonumber(ARGV[5]) then redis.call('HSET', KEYS[4], 'iv', string.format('%.3f', iv)) end
        redis.call('PEXPIRE', KEYS[4], s(60000 + math.max(0, tat - now) / 1000))
        return { s(now), s(base), string.format('%.3f', E), k, s(tat), n, a, lost, differs, s(gate), s(born) }
        """

    /// Deregisters a member: `KEYS[1]` members, `KEYS[2]` marker; `ARGV`: member.
    static let leaveText = """
        local gone = redis.call('ZREM', KEYS[1], ARGV[1])
        local least = redis.pcall('HGET', KEYS[2], 'least')
        if gone == 1 and type(least) == 'string' and tonumber(least) > 1 then redis.call('HINCRBY', KEYS[2], 'least', -1) end
        return gone
        """

    /// Returns the last slots of a block where the limit still ends with them; `KEYS[1]` is the limit.
    ///
    /// `ARGV`: end of the block, what it shrinks by. Without an end, a corrected cost moves the limit, never before now.
    static let giveBackText = """
        local tat = tonumber(redis.call('HGET', KEYS[1], 'tat') or '')
        if tat and ARGV[1] == '' then
          local by = -tonumber(ARGV[2])
          tat = by > 0 and math.max(tat, now) + by or math.max(math.min(tat, now), tat + by)
          redis.call('HSET', KEYS[1], 'tat', s(tat))
          redis.call('PEXPIRE', KEYS[1], s(60000 + math.max(0, tat - now) / 1000))
          return 1
        end
        if not tat or math.abs(tat - tonumber(ARGV[1])) > 1 then return 0 end
        redis.call('HSET', KEYS[1], 'tat', string.format('%.0f', math.ceil(tat - tonumber(ARGV[2]))))
        return 1
        """

    /// Notes a delay that a server has requested of a member: `KEYS[1]` delays, `KEYS[2]` marker, `KEYS[3]` limit.
    ///
    /// `ARGV`: digest, delay, readable key, interval or 0, burst, most delays.
    static let gateText = """
        local e = now + math.max(0, math.min(tonumber(ARGV[2]), 86400000000))
        if notice(KEYS[1], KEYS[2], ARGV[1], e, ARGV[3], tonumber(ARGV[6])) == 0 then return 0 end
        local I = tonumber(ARGV[4])
        local tat = tonumber(redis.call('HGET', KEYS[3], 'tat') or '')
        if I > 0 and tat then
          tat = math.max(tat, e + (tonumber(ARGV[5]) - 1) * I)
          redis.call('HSET', KEYS[3], 'tat', s(tat))
          redis.call('PEXPIRE', KEYS[3], s(60000 + math.max(0, tat - now) / 1000))
        end
        return 1
        """
}
