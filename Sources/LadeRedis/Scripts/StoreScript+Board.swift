extension StoreScript {
    /// The board of a run, as `BoardModel` decides it.
    ///
    /// - `KEYS[1]` the run. `e` is its epoch, `es` are the epochs of its parts, `x` those of runs before, `d` the digest.
    ///   `w` is the number of walks, `n` whether pages are numbered, `z` the pages of a segment, `li` those of a walk.
    ///   `rs` says whether walks restart, `st` is the phase, `at` its instant, `c` the creation, `la` the last commit.
    ///   `gr` ends the wait for offers, `f` is the last fence, `cw` the first walk with new segments.
    ///   `nd` `nf` `np` `ni` `nb` `xp` are the numbers of done and failed segments, pages, items, bytes, and extra pages.
    ///   `mf` `me` `mw` `mg` are fence, end and holder of the merge, and whether it is done. `ck` is the number of elements
    ///   in the other keys.
    /// - `KEYS[2]` walks: next page, end, announced end, generation, failed pages in a row. An unknown end is -1, and a wrong
    ///   announced one -2. `t` is the text of the run.
    /// - `KEYS[3]` segments: `o count attempts lasting fence worker`, `f count detail`, or
    ///   `d pages epoch fence worker items lines length checksum first last`.
    /// - `KEYS[4]` cursors, `KEYS[5]` ends of leases, `KEYS[6]` instants from which on segments can be claimed.
    ///
    /// A run that has lost some of its keys has lost everything.
    ///
    /// `ARGV`, after order, worker, epoch and lease:
    ///
    /// - *open*: digest, text, walks, whether numbered, size, limit, whether walks restart, opening, lost epoch.
    /// - *commit*, *offer*: walk, position, fence, pages, items, lines, length, checksum, first, last, announced, sequel, cursor,
    ///   kind, detail, epoch of the part, generation.
    /// - *manifest*, *reload*: walk, position.
    /// - *merged*: fence.
    /// - *beat*: fence of the merge, then walk, position and fence of each lease.
    static let boardText = """
        local order, me, epoch, lease = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
        local R, changed = {}, {}
        local all = redis.pcall('HGETALL', KEYS[1])
        for i = 1, all.err and 0 or #all, 2 do R[all[i]] = all[i + 1] end
        local function N(f) return tonumber(R[f] or '') or 0 end
        local function put(f, v)
          R[f] = type(v) == 'number' and s(v) or v
          changed[f] = true
        end
        local function add(f, n) put(f, N(f) + n) end
        local function elements()
          local sum = 0
          for i = 2, 6 do
            local n = redis.pcall(i < 5 and 'HLEN' or 'ZCARD', KEYS[i])
            if type(n) ~= 'number' then return -1 end
            sum = sum + n
          end
          return sum
        end
        local function wipe()
          for i = 1, 6 do redis.call('DEL', KEYS[i]) end
          R, changed = {}, {}
        end
        local function say(...)
          if next(changed) then
            put('ck', elements())
            local h = {}
            for f in pairs(changed) do
              h[#h + 1] = f
              h[#h + 1] = R[f]
            end
            redis.call('HSET', KEYS[1], unpack(h))
            for i = 1, 6 do redis.call('PEXPIRE', KEYS[i], 604800000) end
          end
          return { s(now), ... }
        end
        if not R.e or elements() ~= N('ck') then wipe() end
        local function complete() return say('complete', R.e, s(math.max(0, now - N('at'))), R.mg or '0') end
        if order == 'forget' then
          wipe()
          return say('done')
        elseif order == 'open' then
          local dead, how, old = '', ARGV[12], R.e
          if R.e and (how == 'restart' or how == 'force') then
            local held = redis.call('ZCOUNT', KEYS[5], '(' .. s(now), '+inf')
            if how == 'restart' and held > 0 then return say('busy', s(held)) end
            dead = string.sub(R.es .. (R.x == '' and '' or ' ' .. R.x), 1, 32 * 17 - 1)
          elseif R.e then
            if R.d ~= ARGV[5] then return say('differs', redis.call('HGET', KEYS[2], 't')) end
            if R.st == 'complete' then return complete() end
            if R.st == 'cancelled' then
              if how ~= 'resume' then return say('cancelled') end
              put('st', 'running')
            end
            return say('opened', R.e, '0')
          end
          wipe()
          for i, f in ipairs({ 'd', 't', 'w', 'n', 'z', 'li', 'rs' }) do
            if f ~= 't' then put(f, ARGV[i + 4]) end
          end
          put('e', epoch) put('es', epoch) put('x', dead) put('st', 'running') put('c', now) put('la', now)
          if not old and ARGV[13] ~= '' then put('gr', now + 2000000) end
          redis.call('HSET', KEYS[2], 't', ARGV[6])
          return say('opened', epoch, '1')
        end
        if not R.e or (epoch ~= '' and epoch ~= R.e) then return say('unknown') end
        local numbered, size, limit = R.n == '1', N('z'), N('li')
        local W, F = tonumber(ARGV[5] or ''), tonumber(ARGV[6] or '')
        local function key(w, f) return w .. '.' .. f end
        local function span(f) return limit > 0 and math.min(size, math.max(0, limit - f)) or size end
        local function walk(w)
          local n, e, a, g, r = string.match(redis.call('HGET', KEYS[2], w) or '', '^(%d+) (%-?%d+) (%-?%d+) (%d+) (%d+)$')
          if not n then return { n = 0, e = numbered and limit > 0 and limit or -1, a = -1, g = 0, r = 0, new = true } end
          return { n = tonumber(n), e = tonumber(e), a = tonumber(a), g = tonumber(g), r = tonumber(r) }
        end
        local function save(w, k)
          redis.call('HSET', KEYS[2], w, table.concat({ k.n, k.e, k.a, k.g, k.r }, ' '))
          changed.ck = true
        end
        local function entry(w, f)
          local v, e = redis.call('HGET', KEYS[3], key(w, f)), {}
          if not v then return end
          for word in string.gmatch(v, '%S+') do e[#e + 1] = word end
          e.count, e.text = tonumber(e[2]), v
          return e
        end
        local function wait(w, f, count, attempts, x, who, at)
          redis.call('HSET', KEYS[3], key(w, f), table.concat({ 'o', count, attempts, x, 0, who }, ' '))
          redis.call('ZADD', KEYS[6], s(at), key(w, f))
          changed.ck = true
        end
        local function remove(w, f)
          local e = entry(w, f)
          if not e then return 0 end
          if e[1] == 'f' then add('nf', -1) end
          if e[1] == 'd' then
            add('nd', -1) add('np', -e.count) add('ni', -e[6]) add('nb', -e[8]) add('xp', e.count)
          end
          redis.call('HDEL', KEYS[3], key(w, f))
          for i = 5, 6 do redis.call('ZREM', KEYS[i], key(w, f)) end
          changed.ck = true
          return e.count
        end
        local function clear(w, f, to)
          while f < to do
            redis.call('HDEL', KEYS[4], key(w, f))
            local n = remove(w, f)
            if n == 0 then return end
            f = f + n
          end
        end
        local function restart(w, g)
          clear(w, 0, math.huge)
          wait(w, 0, span(0), 0, 0, '', now)
          return { n = 0, e = -1, a = -1, g = g, r = 0 }
        end
        local function giveUp(w, k, f, count, detail, whole)
          k.r = k.r + 1
          local n = numbered and (whole or k.r >= 8) and count or 1
          redis.call('HSET', KEYS[3], key(w, f), 'f ' .. n .. ' ' .. detail)
          add('nf', 1)
          if numbered and n < count then wait(w, f + n, count - n, 0, 0, '', now) end
        end
        local function possible(p, count)
          if p > count or ARGV[16] == 'end' then return p <= count end
          if numbered then return ARGV[16] == 'more' or p < count end
          return p == 0 or ARGV[17] ~= ''
        end
        local function settle(w, f, count, attempts, x)
          local k, p, sequel = walk(w), tonumber(ARGV[8]), ARGV[16]
          local r, cursor = f + p, redis.call('HGET', KEYS[4], key(w, f))
          redis.call('HDEL', KEYS[4], key(w, f))
          put('la', now)
          if p > 0 then
            local d = { 'd', ARGV[8], ARGV[20], ARGV[7], me, unpack(ARGV, 9, 14) }
            redis.call('HSET', KEYS[3], key(w, f), table.concat(d, ' '))
            add('nd', 1) add('np', p) add('ni', tonumber(ARGV[9])) add('nb', tonumber(ARGV[11]))
            k.r, cursor = 0, ARGV[17]
            if k.a > -2 then k.a = tonumber(ARGV[15]) or k.a end
          end
          local rest = (numbered or p == 0) and count - p or span(r)
          if sequel == 'end' then
            if numbered then clear(w, f + count, k.n) end
            k.n, k.e = r, r
          elseif rest == 0 and numbered then
            if k.a >= 0 and r >= k.a then k.a = -2 end
          elseif rest == 0 then
            k.n, k.e = r, r
          else
            if not numbered then
              k.n = r
              if cursor then redis.call('HSET', KEYS[4], key(w, r), cursor) end
            end
            local a, kind = math.max(1, attempts), ARGV[18]
            if sequel == 'more' then
              wait(w, r, rest, math.max(0, attempts - 1), x, '', now)
            elseif kind == 'temporary' and a < 5 then
              wait(w, r, rest, a, x, '', now + ({ 1000000, 5000000, 25000000 })[math.min(a, 3)])
            elseif kind == 'lasting' and a < 5 and x == 0 then
              wait(w, r, rest, a, 1, me, now)
            elseif kind == 'expired' and R.rs == '1' and not numbered and k.g < 5 then
              k = restart(w, k.g + 1)
            else
              giveUp(w, k, r, rest, ARGV[19], false)
            end
          end
          save(w, k)
        end
        local function grant(w, f, count, attempt, x)
          add('f', 1)
          redis.call('HSET', KEYS[3], key(w, f), table.concat({ 'o', count, attempt, x, N('f'), me }, ' '))
          redis.call('ZREM', KEYS[6], key(w, f))
          redis.call('ZADD', KEYS[5], s(now + lease), key(w, f))
          local first, before = entry(w, 0), entry(w, f - size) or {}
          first = first[1] == 'd' and first[10] or '-'
          before = before[1] == 'd' and before.count == size and before[11] or '-'
          local cursor = redis.call('HGET', KEYS[4], key(w, f)) or ''
          return say('lease', s(w), s(f), s(count), s(walk(w).g), R.f, s(attempt), cursor, first, before)
        end
        local function fresh(beyond)
          local w = N('cw')
          for _ = 1, 1000 do
            if w >= N('w') then return end
            local k = walk(w)
            local done = not numbered and not k.new
            if numbered then
              if k.e >= 0 then done = k.n >= k.e else done = k.r >= 8 end
            end
            if done then
              if w == N('cw') then add('cw', 1) end
              w = w + 1
            elseif k.a >= 0 and k.n >= k.a and k.e < 0 and not beyond then
              w = w + 1
            else
              if k.a >= 0 and k.n >= k.a and k.e < 0 then k.a = -2 end
              local f, count = k.n, span(0)
              if numbered then
                count = k.e >= 0 and math.min(size, k.e - f) or size
                k.n = f + count
              end
              save(w, k)
              return grant(w, f, count, 1, 0)
            end
          end
          return say('wait', '10000')
        end
        local function place(m) return tonumber(string.match(m, '^%d+')), tonumber(string.match(m, '%d+$')) end
        local function soon(n) return say('wait', s(math.max(10000, math.min(1000000, n)))) end
        if order == 'claim' then
          if R.st == 'cancelled' then return say('cancelled') end
          if R.st ~= 'running' then return say('nothing', R.st) end
          if N('gr') > now then return say('wait', s(math.min(1000000, N('gr') - now))) end
          for i, most in ipairs({ lease, 25000000 }) do
            local late = redis.call('ZRANGE', KEYS[i + 4], '(' .. s(now + most), '+inf', 'BYSCORE', 'LIMIT', 0, 4000)
            for _, m in ipairs(late) do redis.call('ZADD', KEYS[i + 4], s(now + most), m) end
          end
          for _, m in ipairs(redis.call('ZRANGE', KEYS[5], '-inf', s(now), 'BYSCORE', 'LIMIT', 0, 100)) do
            local w, f = place(m)
            local e = entry(w, f)
            if tonumber(e[3]) < 5 then return grant(w, f, e.count, e[3] + 1, e[4]) end
            local k = walk(w)
            remove(w, f)
            giveUp(w, k, f, e.count, 'its workers ended', true)
            save(w, k)
          end
          local list = redis.call('ZRANGE', KEYS[6], '-inf', s(now), 'BYSCORE', 'LIMIT', 0, 100, 'WITHSCORES')
          for i = 1, #list, 2 do
            local w, f = place(list[i])
            local e = entry(w, f)
            if e[6] ~= me or list[i + 1] + 5000000 <= now then return grant(w, f, e.count, e[3] + 1, e[4]) end
          end
          local reply = fresh(false)
          local held, open = redis.call('ZCARD', KEYS[5]), redis.call('ZCARD', KEYS[6])
          if not reply and held + open == 0 then
            reply = fresh(true)
            if not reply then
              put('st', N('nf') == 0 and 'complete' or 'incomplete') put('at', now)
              return say('nothing', R.st)
            end
          end
          if reply then return reply end
          held = redis.call('ZRANGE', KEYS[5], 0, 0, 'WITHSCORES')[2] or now + 1000000
          open = redis.call('ZRANGE', KEYS[6], '(' .. s(now), '+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')[2]
          return soon(math.min(held, open or held) - now)
        elseif order == 'commit' then
          local e, p = entry(W, F) or {}, tonumber(ARGV[8])
          if e[1] == 'd' and e[3] == epoch and e[4] == ARGV[7] then return say('done') end
          if e[1] ~= 'o' or e[5] ~= ARGV[7] or e[5] == '0' then
            add('xp', p)
            return say('refused')
          end
          if not possible(p, e.count) then return say('refused') end
          remove(W, F)
          settle(W, F, e.count, p > 0 and 0 or tonumber(e[3]), p > 0 and 0 or tonumber(e[4]))
          return say('done')
        elseif order == 'offer' then
          local e, p, g, k = entry(W, F) or {}, tonumber(ARGV[8]), tonumber(ARGV[21]), walk(W)
          if string.find(R.x, ARGV[20], 1, true) or W >= N('w') or p > size then return say('refused') end
          if e[1] == 'd' and e[3] == ARGV[20] and e[4] == ARGV[7] then return say('done') end
          if not possible(p, p) then return say('refused') end
          if numbered then
            local cell, to, over = F - F % size, F + p, {}
            if to > cell + size or (k.e >= 0 and to > k.e) then return say('refused') end
            local f = cell
            while f < to do
              local o = entry(W, f)
              if not o then break end
              if f + o.count > F then
                if o[1] == 'd' then return say('refused') end
                over[#over + 1] = { f, o.count }
              end
              f = f + o.count
            end
            for _ = 1, 1000 do
              if k.n > cell then break end
              local count = k.e >= 0 and math.min(size, k.e - k.n) or size
              wait(W, k.n, count, 0, 0, '', now)
              if k.n == cell then over[#over + 1] = { cell, count } end
              k.n = k.n + count
            end
            save(W, k)
            if k.n <= cell then return say('early') end
            for _, o in ipairs(over) do
              remove(W, o[1])
              if o[1] < F then wait(W, o[1], F - o[1], 0, 0, '', now) end
              if o[1] + o[2] > to then wait(W, to, o[1] + o[2] - to, 0, 0, '', now) end
            end
          else
            if g < k.g then return say('refused') end
            if g > k.g and F > 0 then return say('early') end
            if g > k.g then
              clear(W, 0, math.huge)
              k = { n = 0, e = -1, a = -1, g = g, r = 0 }
            end
            if k.e >= 0 or F < k.n then return say('refused') end
            if F > k.n then return say('early') end
            remove(W, F)
            save(W, k)
          end
          if not string.find(R.es, ARGV[20], 1, true) then put('es', string.sub(ARGV[20] .. ' ' .. R.es, 1, 32 * 17 - 1)) end
          settle(W, F, p, 0, 0)
          if R.st == 'incomplete' then put('st', 'running') end
          return say('done')
        elseif order == 'manifest' then
          local list = {}
          for _ = 1, 1000 do
            if W >= N('w') then return say('manifest', '', '', list) end
            if #list == 100 then break end
            local e = entry(W, F)
            if e then
              list[#list + 1] = W .. ' ' .. F .. ' ' .. e.text
              F = F + e.count
            else
              W, F = W + 1, 0
            end
          end
          return say('manifest', s(W), s(F), list)
        elseif order == 'merge' then
          if R.st ~= 'complete' then return say('refused') end
          if R.mg == '1' then return complete() end
          local rest = math.min(N('me'), now + lease) - now
          if rest > 0 and R.mw ~= me then return soon(rest) end
          add('f', 1)
          put('mf', R.f) put('me', now + lease) put('mw', me)
          return say('merge', R.f)
        elseif order == 'merged' then
          if ARGV[5] ~= R.mf then return say('refused') end
          put('mg', '1')
          return say('done')
        elseif order == 'beat' then
          local lost = {}
          for i = 6, #ARGV, 3 do
            local e = entry(ARGV[i], ARGV[i + 1]) or {}
            if e[1] == 'o' and e[5] == ARGV[i + 2] then
              redis.call('ZADD', KEYS[5], s(now + lease), key(ARGV[i], ARGV[i + 1]))
            else
              lost[#lost + 1] = (i - 6) / 3
            end
          end
          if ARGV[5] == R.mf then put('me', now + lease) end
          return say('beat', R.st == 'cancelled' and 1 or 0, ARGV[5] ~= '' and ARGV[5] ~= R.mf and 1 or 0, lost)
        elseif order == 'state' then
          local n = { N('nd'), redis.call('ZCARD', KEYS[5]), redis.call('ZCARD', KEYS[6]), N('nf'), N('np'), N('ni'), N('nb') }
          for _, f in ipairs({ 'c', 'la' }) do n[#n + 1] = math.max(0, now - N(f)) end
          n[#n + 1] = N('xp')
          for i, x in ipairs(n) do n[i] = s(x) end
          return say('state', R.st, unpack(n))
        elseif order == 'cancel' then
          if R.st == 'running' then put('st', 'cancelled') end
          return say('done')
        elseif order == 'retry' then
          local list = redis.call('HGETALL', KEYS[3])
          for i = 1, #list, 2 do
            if string.sub(list[i + 1], 1, 1) == 'f' then
              local w, f = place(list[i])
              local n = remove(w, f)
              wait(w, f, numbered and n or span(f), 0, 0, '', now)
            end
          end
          list = redis.call('HGETALL', KEYS[2])
          for i = 1, #list, 2 do
            local r = string.match(list[i + 1], '^%d+ %-?%d+ %-?%d+ %d+ (%d+)$')
            if list[i] ~= 't' and r ~= '0' then
              local k = walk(list[i])
              k.r = 0
              save(list[i], k)
            end
          end
          put('cw', 0)
          if R.st == 'incomplete' then put('st', 'running') end
          return say('done')
        end
        local e = entry(W, F) or {}
        if e[1] ~= 'd' then return say('refused') end
        if numbered then
          remove(W, F)
          wait(W, F, e.count, 0, 0, '', now)
        else
          save(W, restart(W, walk(W).g + 1))
        end
        if R.st ~= 'cancelled' then put('st', 'running') end
        put('mg', '0')
        return say('done')
        """
}
