import { rowsOfEvent } from './row-functions.ts'
import { script } from './script.ts'

/**
 * Collects the arguments of rows for an insert later in the same MULTI. Arguments: how many rows were
 * collected before; then the arguments of each row. If the insert never comes, they expire by themselves.
 */
export const stageScript = script(`
if ARGV[1] == '0' then call('DEL', staged) end
local values = {}
for index = 2, #ARGV do values[index - 1] = ARGV[index] end
send('RPUSH', staged, values)
call('EXPIRE', staged, 60)
`)

/**
 * Adds rows, all or none. Returns for each its `seq`, or the id of the event that used its key.
 *
 * Arguments:
 *
 * - the channel to signal on (empty for none)
 * - a name of this write
 * - how many rows earlier scripts have collected
 * - for each row: event id, destination, text, due time (`@` at, `+` after), its lease (milliseconds and
 *   owner; empty without one), idempotency key (behind `=`)
 *
 * Numbers follow the clock, in microseconds. So no number is used twice, even if a failover lost the last
 * ones. A process that still holds a lost row must not settle another row in its place.
 *
 * A client may repeat a script whose reply it missed: rows that this very write has added are returned as
 * added.
 */
export const insertScript = script(
  rowsOfEvent,
  `
local channel, write, gathered = ARGV[1], ARGV[2], tonumber(ARGV[3])
local args, offset = ARGV, 4
if gathered > 0 then
  args, offset = call('LRANGE', staged, 0, -1), 1
  call('DEL', staged)
  if #args ~= 6 * gathered then
    return redis.error_reply('ERR The rows of this write were not gathered, and nothing was added')
  end
  for index = 4, #ARGV do args[#args + 1] = ARGV[index] end
end
local total = (#args - offset + 1) / 6
local eventIds, usedKeys, keyOf = {}, {}, {}
for index = 1, total do
  local first = offset + (index - 1) * 6
  eventIds[index] = args[first]
  if args[first + 5] ~= '' then
    usedKeys[#usedKeys + 1] = string.sub(args[first + 5], 2)
    keyOf[index] = #usedKeys
  end
end
local knownRows = read(ids, eventIds)
local knownKeys = read(keys, usedKeys)

local answers, added, byEvent, usedHere = {}, {}, {}, {}
for index = 1, total do
  local first = offset + (index - 1) * 6
  local eventId, destination = eventIds[index], args[first + 1]
  local members = byEvent[eventId]
  if members == nil then
    members = rowsOfEvent(knownRows[index]) or {}
    byEvent[eventId] = members
  end
  local known = members[destination]
  local packed = known and known ~= 0 and call('HGET', state, known)
  local key = keyOf[index] and usedKeys[keyOf[index]]

  if packed and stateOf(packed)[WRITE] == write then
    answers[index] = tonumber(known)
  elseif key and usedHere[key] ~= eventId and (usedHere[key] or knownKeys[keyOf[index]]) then
    answers[index] = usedHere[key] or knownKeys[keyOf[index]]
  elseif known then
    return redis.error_reply('DUPLICATEEVENTID ' .. index .. ' was written before, and nothing was added')
  else
    if key then usedHere[key] = eventId end
    members[destination] = 0
    added[#added + 1] = index
  end
end

local seq = math.max(tonumber(call('HGET', meta, 'seq') or 0), micros - 1)
local newRows, newStates, newIds, newWritten, newDue, newLeased, newKeys, newTimes = {}, {}, {}, {}, {}, {}, {}, {}
local lease, leaseEnd, owner
for position = 1, #added do
  local index = added[position]
  local first = offset + (index - 1) * 6
  local eventId, destination, dueTime = eventIds[index], args[first + 1], args[first + 3]
  local claimed = args[first + 4] ~= ''
  if claimed and args[first + 4] ~= lease then
    lease = args[first + 4]
    local leaseMs
    leaseMs, owner = string.match(lease, '^(%S+) (.*)$')
    leaseEnd = math.ceil(now + tonumber(leaseMs))
  end
  local after = tonumber(string.sub(dueTime, 2))
  local availableAt = math.ceil(string.sub(dueTime, 1, 1) == '@' and after or now + after)
  seq = seq + 1
  local member = string.format('%016.0f', seq)
  answers[index] = seq
  byEvent[eventId][destination] = member

  local pair = 2 * position
  newRows[pair - 1], newRows[pair] = member, args[first + 2]
  newStates[pair - 1] = member
  newStates[pair] = cmsgpack.pack({ NEW, 0, claimed and 1 or 0, 0, availableAt, now,
    claimed and owner, claimed and leaseEnd, false, false, false, write })
  newWritten[pair - 1], newWritten[pair] = seq, member
  local places = claimed and newLeased or newDue
  places[#places + 1] = claimed and leaseEnd or availableAt
  places[#places + 1] = member
  if keyOf[index] then
    local key = usedKeys[keyOf[index]]
    newKeys[#newKeys + 1] = key
    newKeys[#newKeys + 1] = eventId
    newTimes[#newTimes + 1] = now
    newTimes[#newTimes + 1] = key
  end
end
for position = 1, #added do
  local eventId = eventIds[added[position]]
  local members = byEvent[eventId]
  local only = members[''] and next(members) == '' and next(members, '') == nil
  newIds[#newIds + 1] = eventId
  newIds[#newIds + 1] = only and members[''] or cjson.encode(members)
end

if #added > 0 then
  call('HSET', meta, 'seq', string.format('%.0f', seq))
  call('HINCRBY', meta, 'status0', #added)
  send('HSET', rows, newRows)
  send('HSET', state, newStates)
  send('HSET', ids, newIds)
  send('ZADD', written, newWritten)
  send('ZADD', pending, newWritten)
  send('ZADD', due, newDue)
  send('ZADD', leased, newLeased)
  send('HSET', keys, newKeys)
  send('ZADD', keyTimes, newTimes)
  if channel ~= '' then call('PUBLISH', channel, '') end
end
return answers
`,
)
