extension StoreScript {
    /// Renews credentials as one: `KEYS[1]` the record, `KEYS[2]` marker, `KEYS[3]` members.
    ///
    /// Within a second of the birth of a store, members offer what it may have lost, and no lease is granted.
    ///
    /// The fields of a record:
    ///
    /// - `c` creation, `v` version, `val` value, `end`;
    /// - `st` state: `i` idle, `l` leased, `s` sent, `f` failed, `o` signed out;
    /// - `f` fence, `le` end of the lease, `by` holder, `tk` whether the lease was taken over in doubt;
    /// - `why` `fe` `fo` `fn`: reason, end, opening and number of failures; `rs` the last refreshes.
    ///
    /// Versions and fences are instants of the store, so that they grow even when it has lost its contents.
    ///
    /// `ARGV`, after the order and the member:
    ///
    /// - *take*, *offer*: version, value, life, fence, rest of the lease, lease, doubt, most refreshes, their period, whether only
    ///   a user can sign in.
    /// - *sending*: fence, least rest.
    /// - *put*: base, value, life; the base of a sign-in is empty.
    /// - *fail*: fence, reason, memory, most memory, doubt. The memory is empty for a failure that lasts, and negative when
    ///   nothing was sent.
    ///
    /// A life without an end is empty.
    static let credentialsText = """
        local order, me = ARGV[1], ARGV[2]
        local r = fields(KEYS[1], 'v', 'val', 'end', 'st', 'f', 'le', 'by', 'tk', 'why', 'fe', 'fo', 'fn', 'rs', 'c')
        local function num(i) return tonumber(r[i] or '') or 0 end
        local v, val, ends, st, f, le, by = num(1), r[2] or '', num(3), r[4] or 'i', num(5), num(6), r[7] or ''
        local made = num(14)
        local a3, a5 = tonumber(ARGV[3]) or 0, tonumber(ARGV[5] or '')
        local function keep(...)
          if made == 0 then made = now end
          redis.call('HSET', KEYS[1], 'c', s(made), ...)
          redis.call('PEXPIRE', KEYS[1], s(2592000000 + math.max(0, ends - now) / 1000))
        end
        local function set(version, value, life)
          v, val, ends, st = version, value, life and now + life or 0, 'i'
          keep('v', s(v), 'val', val, 'end', s(ends), 'st', st, 'by', '', 'tk', '0', 'fn', '0')
        end
        local function say(...) return { s(now), ... } end
        local function newest()
          if val == '' then return say('out', s(v)) end
          return say('use', s(v), val, ends == 0 and '' or s(math.max(0, ends - now)))
        end
        if order == 'sending' then
          if f ~= a3 or st ~= 'l' or le - now < tonumber(ARGV[4]) then return say('refused') end
          keep('st', 's', 'rs', (r[13] or '') .. ' ' .. s(now))
          return say('done')
        elseif order == 'put' then
          if ARGV[3] == '' or a3 >= v then set(math.max(v + 1, a3 + 1, now), ARGV[4], a5) end
          return newest()
        elseif order == 'fail' then
          local memory = tonumber(ARGV[5])
          if f ~= a3 or (st ~= 'l' and st ~= 's') then return say('done') end
          if memory and memory < 0 then
            keep('st', 'i')
            return say('done')
          end
          local n = num(12) + 1
          memory = memory and math.min(memory * 2 ^ math.min(n - 1, 20), tonumber(ARGV[6]))
          local open = not memory and num(8) == 1 and now + tonumber(ARGV[7]) or 0
          keep('st', 'f', 'why', ARGV[4], 'fe', memory and s(now + memory) or '0', 'fo', s(open), 'fn', n)
          if open > 0 then return say('wait', ARGV[7], '1') end
          return say('failed', ARGV[4], memory and s(memory) or '')
        elseif order == 'forget' then
          set(math.max(v + 1, now), '', nil)
          keep('st', 'o')
          return say('done')
        end
        local fence, lease, doubt, period = tonumber(ARGV[6]), tonumber(ARGV[8]), tonumber(ARGV[9]), tonumber(ARGV[11])
        if st ~= 'o' and (a3 > v or v == 0) and ARGV[4] ~= '' then set(math.max(a3, 1), ARGV[4], a5) end
        if fence > f and math.max(a3, 1) >= v then
          f, st, le = fence, 's', now + math.min(tonumber(ARGV[7]), lease)
          keep('f', s(f), 'st', st, 'le', s(le), 'by', me)
        end
        if st == 'o' and ARGV[12] == '1' then return newest() end
        if order == 'offer' then return say('done') end
        if v > a3 and val ~= '' and (ends == 0 or ends > now) then return newest() end
        if st == 'f' then
          local fe, fo = num(10), num(11)
          if fo > now then return say('wait', s(math.min(fo - now, doubt)), '1') end
          if fe == 0 or fe > now then return say('failed', r[9], fe == 0 and '' or s(fe - now)) end
        end
        le = math.min(le, now + lease)
        if by ~= me and (st == 'l' or st == 's') then
          local id, open = string.match(by, '^%S+ %S+') or '', st == 's' and doubt or 0
          if open > 0 and not redis.call('ZSCORE', KEYS[3], id) then
            local name = string.match(by, '^%S+ ') or ' '
            for _, m in ipairs(redis.call('ZRANGE', KEYS[3], 0, 4095)) do
              if string.sub(m, 1, #name) == name then open = 0 end
            end
          end
          local free = le + open
          if free > now then return say('wait', s(free - now), le <= now and '1' or '0') end
        end
        local born = tonumber(fields(KEYS[2], 'born')[1] or '') or now
        if doubt > 0 and (made == 0 or made >= born) and now - born < 1000000 then return say('wait', '1000000', '0') end
        local starts = {}
        for start in string.gmatch(r[13] or '', '%d+') do
          if math.abs(now - start) < period then starts[#starts + 1] = start end
        end
        if #starts >= tonumber(ARGV[10]) then return say('excess') end
        local taken = (st == 's' and by ~= me) or (st == 'l' and num(8) == 1)
        f = math.max(f + 1, now)
        keep('f', s(f), 'st', 'l', 'le', s(now + lease), 'by', me, 'tk', taken and '1' or '0', 'rs', table.concat(starts, ' '))
        return say('lease', s(f), s(v), val)
        """
}
