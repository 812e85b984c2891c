extension StoreScript {
    /// Lets all members know of something that lasts until an instant, unless they know of the same for as long.
    static let notice = """
        local function notice(key, mkey, field, e, name, most)
          if redis.call('TYPE', key).ok ~= 'hash' then redis.call('DEL', key) end
          local old = redis.call('HGET', key, field)
          if old and tonumber(string.match(old, '^(%d+) ') or 0) >= e then return 0 end
          if not old and redis.call('HLEN', key) >= most then
            local g = redis.call('HGETALL', key)
            for i = 1, #g, 2 do
              if tonumber(string.match(g[i + 1], '^(%d+) ') or 0) <= now then redis.call('HDEL', key, g[i]) end
            end
            if redis.call('HLEN', key) >= most then return 0 end
          end
          redis.call('HSET', key, field, s(e) .. ' ' .. redis.call('HINCRBY', mkey, 'gs', 1) .. ' ' .. name)
          local left = redis.call('PTTL', key)
          redis.call('PEXPIRE', key, s(math.max(left, 60000 + (e - now) / 1000)))
          return 1
        end

        """

    /// Counts the calls of a quota: `KEYS[1]` is the quota, `KEYS[2]` the delays, `KEYS[3]` the marker.
    ///
    /// `ARGV`, first the ask's: slots wanted, holds none, horizon, members heard, slots returned, their window. Then the quota's: share
    /// and least number of its reserve, digest, readable key, most notices, calls and time per call of a window. Last the
    /// reading's: remaining, time until the reset, own calls in flight. Unknown numbers are empty.
    ///
    /// The count of slots that the server may put into the next window, from a second before the end, is `got`. While `left` is
    /// unknown, between the end of a window and the first reading of the next, an ask is granted one slot.
    static let quotaText = """
        local v, f = {}, fields(KEYS[1], 'left', 'early', 'limit', 'rest', 'last', 'got', 'seen', 'w')
        for i = 1, 16 do v[i] = tonumber(i > 8 and ARGV[i - 8] or f[i] or '') end
        local left, early, limit, rest, last, got, w = v[1], v[2], v[3] or 0, v[4], v[5] or 0, v[6] or 0, v[8] or 0
        local wanted, none, H, a = v[9], v[10], v[11], v[12]
        local d = v[7] and v[7] - now or 0
        if d > 1000 then early, last = early and early - d, last - d end
        if left and now >= early + 1000000 then left = nil end
        if left and w == v[14] then left = left + v[13] end
        local r, e = tonumber(ARGV[14]), now + (tonumber(ARGV[15]) or 0)
        limit, rest = math.max(limit, tonumber(ARGV[12]) or 0), rest or tonumber(ARGV[13])
        if r then
          local mine = tonumber(ARGV[16])
          if left and math.abs(e - early) < 1500000 then
            early, left = math.min(early, e), math.min(left, r - mine)
          elseif not left or e - now >= 1000000 then
            left, early, got, w = r - math.max(mine, got - 1), e, 0, w + 1
            limit, rest = tonumber(ARGV[12]) or r + 1, tonumber(ARGV[13]) or rest or 1000000
            notice(KEYS[2], KEYS[3], 'q' .. ARGV[9], early + 1000000, ARGV[10], tonumber(ARGV[11]))
          end
          if left <= 0 then notice(KEYS[2], KEYS[3], 'x' .. ARGV[9], early + 1000000, ARGV[10], tonumber(ARGV[11])) end
        end
        if not rest then return { s(now), 0, 0, '0', '0', '0', 0, 0 } end
        local n, first, E = 0, math.max(now, last + rest), rest
        if wanted > 0 and not left then
          if none == 1 or first <= now + H then n = 1 end
        elseif wanted > 0 and left > 0 then
          local free = left - math.max(v[16], math.floor(limit * v[15]))
          if free > 0 then
            first, E = now, 0
            n = math.min(wanted, free, math.max(1, math.floor(left / (2 * a))))
          else
            E = math.max(1, (early - math.max(now, last)) / (left + 1))
            first = math.max(now, last + E)
            n = math.min(wanted, left, math.floor((now + H - first) / E) + 1, math.max(1, math.floor(H / (E * a))))
            if n < 1 then n = none end
          end
          left = left - n
        end
        if n > 0 then
          last = first + (n - 1) * E
          local edge = (early or 0) - 1000000
          if last >= edge then got = got + math.min(n, E > 0 and math.floor((last - edge) / E) + 1 or n) end
        end
        redis.call('HSET', KEYS[1], 'left', left and s(left) or '', 'early', early and s(early) or '', 'limit', s(limit),
          'rest', string.format('%.3f', rest), 'last', s(last), 'got', s(got), 'seen', s(now), 'w', w, 'name', ARGV[10])
        redis.call('PEXPIRE', KEYS[1], s(60000 + math.max(0, (early or now) - now) / 1000))
        return { s(now), 1, n, s(first), string.format('%.3f', E), s(early or 0), left and left <= 0 and 1 or 0, w }
        """
}
