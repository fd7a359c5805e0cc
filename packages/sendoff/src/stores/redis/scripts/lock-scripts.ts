import { evenWhenFull, headOf, isForOther, ownedLock, partsOfSorted, rankOf } from './row-functions.ts'
import { script } from './script.ts'

/**
 * Takes a lock that is free, has run out or is the token's already. If the last owner vanished, counts a loss
 * for each row that it held and that no process has leased since. Arguments: name, token, milliseconds,
 * destination of these rows behind `=` (empty for any). Returns 1, or 0 if another token has the lock.
 */
export const acquireLockScript = script(
  evenWhenFull,
  headOf,
  isForOther,
  rankOf,
  partsOfSorted,
  ownedLock,
  `
wantDestination(ARGV[4])
local function countLosses(key, bounds, begin)
  local rank = rankOf(key, scoreText(begin + bounds[1]), bounds[2])
  while true do
    local window = call('ZRANGE', key, rank, rank + 999, 'WITHSCORES')
    local members = {}
    for index = 1, #window, 2 do
      local at = tonumber(window[index + 1]) - begin
      if at > bounds[3] or (at == bounds[3] and window[index] > bounds[4]) then break end
      members[#members + 1] = window[index]
    end
    local changed, texts = {}, wantedDestination and read(rows, members)
    for index, packed in ipairs(read(state, members)) do
      local fields, isRead = stateOf(packed)
      if isRead and not fields[LOCKED_BY] and not (texts and isForOther(texts[index])) then
        fields[LOSSES] = fields[LOSSES] + 1
        fields[DELIVERIES] = fields[DELIVERIES] + 1
        changed[#changed + 1] = members[index]
        changed[#changed + 1] = cmsgpack.pack(fields)
      end
    end
    send('HSET', state, changed)
    if #members < 1000 then return end
    rank = rank + 1000
  end
end

local lock = lockNamed(ARGV[1])
if lock and lock[TOKEN] ~= ARGV[2] and lock[UNTIL] > now then return 0 end

local bounds = lock and lock[BOUNDS]
if bounds and lock[TOKEN] ~= ARGV[2] then
  countLosses(due, bounds, 0)
  countLosses(parked, bounds, 0)
  for _, begin in ipairs(partOf and partsWanted() or {}) do countLosses(sorted, bounds, begin) end
  bounds = false
end
call('HSET', locks, ARGV[1], cmsgpack.pack({ ARGV[2], now + tonumber(ARGV[3]), bounds or false }))
return 1
`,
)

/** Renews a lock. Arguments: name, token, milliseconds. Returns 1, or 0 if the lock was lost. */
export const renewLockScript = script(
  evenWhenFull,
  ownedLock,
  `
local lock = lockNamed(ARGV[1])
if not isOwned(lock, ARGV[2]) then return 0 end
lock[UNTIL] = now + tonumber(ARGV[3])
call('HSET', locks, ARGV[1], cmsgpack.pack(lock))
return 1
`,
)

/** Releases a lock. Arguments: name, token. */
export const releaseLockScript = script(
  ownedLock,
  `
local lock = lockNamed(ARGV[1])
if lock and lock[TOKEN] == ARGV[2] then call('HDEL', locks, ARGV[1]) end
`,
)
