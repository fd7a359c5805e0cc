import { headOf, rowsOfEvent } from './row-functions.ts'
import { script } from './script.ts'

/**
 * Finds rows that match a filter, in write order, among some thousands of rows. Arguments: `seq` to continue
 * behind, limit, whether to count only, the filter as JSON. Returns where to continue, or false; how many
 * match; and for each row the fields of its state and its text.
 */
export const queryScript = script(
  headOf,
  rowsOfEvent,
  `
local after, limit, onlyCounts, filter = ARGV[1], tonumber(ARGV[2]), ARGV[3] == '1', cjson.decode(ARGV[4])
local headFilter = { filter.eventId or false, filter.destination or false, filter.eventType or false, filter.aggregateType or false,
  filter.aggregateId or false, filter.tenantId or false }
local hasHeadFilter = false
for part = 1, 6 do hasHeadFilter = hasHeadFilter or headFilter[part] ~= false end
local statuses = filter.status and {}
for _, status in ipairs(filter.status or {}) do statuses[status] = true end
local onlyDead = statuses and statuses[DEAD] and next(statuses) == DEAD and next(statuses, DEAD) == nil

local function matches(fields, row)
  if statuses and not statuses[fields[STATUS]] then return false end
  if not hasHeadFilter then return true end
  local head = headOf(row)
  for part = 1, 6 do
    if headFilter[part] and head[part] ~= headFilter[part] then return false end
  end
  return true
end

local members
local eventIds = filter.eventIds or filter.eventId and { filter.eventId }
if eventIds then
  members = {}
  for _, eventId in ipairs(eventIds) do
    for _, member in pairs(rowsOfEvent(call('HGET', ids, eventId)) or {}) do
      if tonumber(member) > tonumber(after) then members[#members + 1] = member end
    end
  end
  table.sort(members)
else
  members = call('ZRANGEBYSCORE', onlyDead and dead or written, '(' .. after, '+inf', 'LIMIT', 0, 1000)
end

local states = read(state, members)
local texts = (hasHeadFilter or not onlyCounts) and read(rows, members) or {}
local found, answer = 0, {}
for index = 1, #members do
  if found >= limit then return { false, found, answer } end
  local fields, isRead = stateOf(states[index])
  if matches(fields, texts[index]) then
    found = found + 1
    if not onlyCounts then answer[found] = { members[index], fields, isRead and texts[index] } end
  end
end
local isLast = eventIds or #members < 1000
return { not isLast and members[#members], found, answer }
`,
)

/** Returns how many rows have each status, in the order of their codes. */
export const countsScript = script("return call('HMGET', meta, 'status0', 'status1', 'status2', 'status3')")

/** Returns the failed attempts at a row as JSON. Arguments: event id, destination. */
export const attemptsScript = script(
  rowsOfEvent,
  `
local member = memberOf(ARGV[1], ARGV[2])
return member and call('HGET', attempts, member)
`,
)
