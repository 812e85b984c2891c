extension StoreScript {
    /// Notes the member as alive, unless it probes, and counts the members: `KEYS[1]` members, `KEYS[2]` marker, `KEYS[3]` delays.
    ///
    /// A clock that was set back moves all stored instants by as much. A new store has at least the members that each knew
    /// from the store before, less those that have left. The count that a member has from this store itself does not matter.
    static let census = """
        local function census(me, known, lapse, forget, from, probes)
          local m = fields(KEYS[2], 'born', 'seen', 'least')
          local least = tonumber(m[3] or 1)
          if from ~= m[1] and known > least then least = known end
          local born = tonumber(m[1] or now)
          local seen = tonumber(m[2] or now)
          local d = seen - now
          if redis.call('TYPE', KEYS[1]).ok ~= 'zset' then redis.call('DEL', KEYS[1]) end
          if d > 1000 then
            born = born - d
            local all = redis.call('ZRANGE', KEYS[1], 0, -1, 'WITHSCORES')
            for i = 1, #all, 2 do redis.call('ZADD', KEYS[1], s(all[i + 1] - d), all[i]) end
            local g = redis.pcall('HGETALL', KEYS[3])
            for i = 1, #g, 2 do
              local e, rest = string.match(g[i + 1], '^(%d+)( .*)$')
              if e then redis.call('HSET', KEYS[3], g[i], s(e - d) .. rest) end
            end
          end
          redis.call('HSET', KEYS[2], 'born', s(born), 'seen', s(now), 'least', least)
          if not probes then redis.call('ZADD', KEYS[1], s(now), me) end
          redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', s(now - forget))
          local life = s(math.max(120000, forget / 1000 + 60000))
          redis.call('PEXPIRE', KEYS[1], life)
          redis.call('PEXPIRE', KEYS[2], life)
          local n = redis.call('ZCARD', KEYS[1])
          local a = redis.call('ZCOUNT', KEYS[1], s(now - lapse), '+inf')
          if now - born < forget and least > n then n = least end
          return math.max(n, 1), math.max(a, 1), born
        end

        """

    /// `ARGV`: member, name, joins, most members known, lapse, forget, sequence of delays known, birth of the store known.
    ///
    /// `joins` is 1 for a member that joins, and 2 for one that only probes the store. The others must not use the share at which
    /// a probing member calls.
    static let beatText = """
        local me = ARGV[1]
        local clash = 0
        if ARGV[3] == '1' then
          local all = redis.call('ZRANGE', KEYS[1], '-inf', '+inf', 'BYSCORE', 'LIMIT', 0, 4096)
          for i = 1, #all do
            if all[i] ~= me and string.sub(all[i], 1, #ARGV[2] + 1) == ARGV[2] .. ' ' then
              if tonumber(redis.call('ZSCORE', KEYS[1], all[i])) < now - ARGV[5] then
                redis.call('ZREM', KEYS[1], all[i])
              else
                clash = 1
              end
            end
          end
        end
        local n, a, born = census(me, tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6]), ARGV[8], ARGV[3] == '2')
        local gs = tonumber(fields(KEYS[2], 'gs')[1] or 0)
        local list = {}
        local from = tonumber(ARGV[7])
        if ARGV[8] ~= s(born) then from = -1 end
        if gs > from then
          local g = redis.pcall('HGETALL', KEYS[3])
          for i = 1, #g, 2 do
            local e, q, key = string.match(g[i + 1], '^(%d+) (%d+) (.*)$')
            if e and tonumber(q) > from and tonumber(e) > now then
              list[#list + 1] = g[i]
              list[#list + 1] = e
              list[#list + 1] = key
            end
          end
        end
        return { s(now), n, a, s(born), gs, clash, list }
        """
}
