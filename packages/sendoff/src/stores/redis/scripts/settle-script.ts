import { evenWhenFull, forget, headOf, ownedLock, rowsOfEvent, unsort } from './row-functions.ts'
import { script } from './script.ts'

/**
 * Records outcomes. Returns the places of the refused ones in the batch, counted from 1.
 *
 * Arguments:
 *
 * - name and token of the owner's lock (empty without one)
 * - how many groups of rows there are; the rows of a group are settled alike
 * - for each group: its outcome (`done` or `delete`), holder (behind `=`; empty without one), deliveries, how
 *   many rows, and their names, followed by their event ids if they are deleted
 * - each other row as a JSON array: name, holder or false, deliveries, outcome, delay, error or false,
 *   whether it counts, reason or false, event id
 */
export const settleScript = script(
  evenWhenFull,
  headOf,
  rowsOfEvent,
  unsort,
  forget,
  ownedLock,
  `
local isOwner = ARGV[1] ~= '' and isOwned(lockNamed(ARGV[1]), ARGV[2])
local place, refused = 0, {}
local left, changed, gone, removed, removedIds, newDue, deadPlaces, settled = {}, {}, {}, {}, {}, {}, {}, {}

-- Returns the row if it is pending and this holder still has it. If the batch names a row twice, the
-- second time sees what the first one did.
local function heldRow(member, packed, holder, deliveries)
  place = place + 1
  local fields = settled[member]
  -- If a due row has no state, the state was deleted by hand.
  if fields == nil then fields = (packed or call('ZSCORE', due, member) or call('ZSCORE', sorted, member)) and stateOf(packed) end
  if fields and fields[DELIVERIES] == deliveries and fields[LOCKED_BY] == holder and (holder or isOwner)
    and (fields[STATUS] == NEW or fields[STATUS] == RETRY) then
    settled[member] = fields
    left[#left + 1] = member
    fields[DELIVERIES] = deliveries + 1
    fields[LOSSES] = 0
    fields[LOCKED_BY], fields[LOCKED_UNTIL] = false, false
    return fields
  end
  refused[#refused + 1] = place
end

local function becomes(fields, status)
  count(fields[STATUS], -1)
  count(status, 1)
  fields[STATUS] = status
end

local function keep(member, fields)
  changed[#changed + 1] = member
  changed[#changed + 1] = cmsgpack.pack(fields)
end

local function done(member, fields)
  becomes(fields, DONE)
  fields[DONE_AT], fields[LAST_ERROR] = now, false
  gone[#gone + 1] = member
  keep(member, fields)
end

local function delete(member, fields, eventId)
  count(fields[STATUS], -1)
  settled[member] = false
  removed[#removed + 1] = member
  removedIds[#removed] = eventId
end

local function dueAgain(member, fields, delayMs)
  fields[AVAILABLE_AT] = math.ceil(now + delayMs)
  newDue[#newDue + 1] = fields[AVAILABLE_AT]
  newDue[#newDue + 1] = member
end

local argument = 4
for group = 1, tonumber(ARGV[3]) do
  local isDone = ARGV[argument] == 'done'
  local holder = ARGV[argument + 1] ~= '' and string.sub(ARGV[argument + 1], 2)
  local deliveries = tonumber(ARGV[argument + 2])
  local size = tonumber(ARGV[argument + 3])
  local members = {}
  for index = 1, size do members[index] = ARGV[argument + 3 + index] end
  local states = read(state, members)
  for index = 1, size do
    local fields = heldRow(members[index], states[index], holder, deliveries)
    if fields and isDone then done(members[index], fields)
    elseif fields then delete(members[index], fields, ARGV[argument + 3 + size + index]) end
  end
  argument = argument + 4 + (isDone and size or 2 * size)
end

for _, outcome in ipairs(cjson.decode(ARGV[argument])) do
  local member, holder, deliveries, kind, delayMs, failure, counts, reason, eventId = unpack(outcome)
  local fields = heldRow(member, call('HGET', state, member), holder, deliveries)
  if fields then
    if failure then
      if counts then fields[ATTEMPTS] = fields[ATTEMPTS] + 1 end
      local entry = cjson.encode({ fields[ATTEMPTS], now, failure, holder })
      local before = call('HGET', attempts, member)
      call('HSET', attempts, member, before and (before .. ',' .. entry) or entry)
      fields[LAST_ERROR] = failure
    end
    if kind == 'done' then done(member, fields)
    elseif kind == 'delete' then delete(member, fields, eventId)
    else
      if kind == 'retry' then
        becomes(fields, RETRY)
        dueAgain(member, fields, delayMs)
      elseif kind == 'defer' then
        becomes(fields, NEW)
        if reason then fields[LAST_ERROR] = reason end
        dueAgain(member, fields, delayMs)
      elseif kind == 'block' then
        fields[BLOCKED_AT] = now
        gone[#gone + 1] = member
      else
        becomes(fields, DEAD)
        fields[DONE_AT] = now
        gone[#gone + 1] = member
        deadPlaces[#deadPlaces + 1] = tonumber(member)
        deadPlaces[#deadPlaces + 1] = member
      end
      keep(member, fields)
    end
  end
end

send('ZREM', leased, left)
send('ZREM', due, left)
send('ZREM', parked, left)
unsort(left)
send('ZREM', pending, gone)
send('HSET', state, changed)
send('ZADD', due, newDue)
send('ZADD', dead, deadPlaces)
forget(removed, removedIds)
sendCounts()
return refused
`,
)
