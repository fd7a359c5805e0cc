import {
  evenWhenFull,
  freeLapsed,
  headOf,
  isForOther,
  isPaused,
  ownedLock,
  rankOf,
  rowsOfEvent,
  unpark,
} from './row-functions.ts'
import { script } from './script.ts'

/**
 * Returns for each row its name, attempts, deliveries, losses, due time, time of the write, holder and text;
 * no text if it cannot be read.
 */
const answerRow = `
local answer, last = {}, 0
local function answerRow(member, fields, row)
  answer[last + 1], answer[last + 2], answer[last + 3] = member, fields[ATTEMPTS], fields[DELIVERIES]
  answer[last + 4], answer[last + 5], answer[last + 6] = fields[LOSSES], fields[AVAILABLE_AT], fields[CREATED_AT]
  answer[last + 7], answer[last + 8] = fields[LOCKED_BY], row
  last = last + 8
end
`

/**
 * Finds due rows that no process holds, in due order. Sets paused rows aside, so that each is examined once.
 * Examines some thousands of rows at most. If these were not enough, the result says where to continue.
 */
const dueRows = `
local function dueRows(limit, fromAt, fromMember, writtenBefore)
  freeLapsed(math.max(limit, 1000))
  unpark()
  local found, fieldsOf, textOf, size, lookedAt = {}, {}, {}, 0, 0
  local rank = fromAt ~= '' and rankOf(due, fromAt, fromMember) or 0
  local place
  while size < limit do
    if lookedAt > limit + 2000 then return found, fieldsOf, textOf, place end
    local wanted = math.min(limit - size, 1000)
    local window = call('ZRANGE', due, rank, rank + wanted - 1, 'WITHSCORES')
    local members = {}
    for index = 1, #window, 2 do
      if tonumber(window[index + 1]) > now then break end
      members[#members + 1] = window[index]
    end
    if #members == 0 then break end

    local states, texts = read(state, members), read(rows, members)
    local aside, places = {}, {}
    for index = 1, #members do
      local fields, isRead = stateOf(states[index])
      if not isRead then fields[AVAILABLE_AT], texts[index] = tonumber(window[2 * index]), false end
      if isAnyPaused and isPaused(texts[index]) then
        aside[#aside + 1] = members[index]
        places[#places + 1] = window[2 * index]
        places[#places + 1] = members[index]
      elseif fields[CREATED_AT] <= writtenBefore and not isForOther(texts[index]) then
        size = size + 1
        found[size], fieldsOf[size], textOf[size] = members[index], fields, texts[index]
      end
    end
    send('ZREM', due, aside)
    send('ZADD', parked, places)
    rank = rank + #members - #aside
    lookedAt = lookedAt + #members
    place = { window[2 * #members], members[#members] }
    if #members < wanted then break end
  end
  return found, fieldsOf, textOf
end
`

/**
 * As `dueRows`, but only rows of the wanted types. Examines at most `window` rows. It reads names without
 * escapes from a row's first line without decoding the line.
 */
const dueRowsOfTypes = `
local function typeName(eventType, aggregateType)
  return #eventType .. ':' .. eventType .. aggregateType
end

local function typeOf(row)
  local eventType, aggregateType = string.match(row, '^%["[^"\\\\]*","[^"\\\\]*","([^"\\\\]*)","([^"\\\\]*)"')
  if eventType then return typeName(eventType, aggregateType) end
  local head = headOf(row)
  return typeName(head[3], head[4])
end

local function dueRowsOfTypes(limit, fromAt, fromMember, writtenBefore, window, wanted)
  freeLapsed(math.max(limit, 1000))
  unpark()
  local found, fieldsOf, textOf, size, lookedAt = {}, {}, {}, 0, 0
  local rank = fromAt ~= '' and rankOf(due, fromAt, fromMember) or 0
  local place
  while lookedAt < window do
    local asked = math.min(window - lookedAt, 1000)
    local places = call('ZRANGE', due, rank, rank + asked - 1, 'WITHSCORES')
    local members = {}
    for index = 1, #places, 2 do
      if tonumber(places[index + 1]) > now then break end
      members[#members + 1] = places[index]
    end
    local texts = read(rows, members)
    local candidates, candidateTexts, candidatePlaces = {}, {}, {}
    for index = 1, #members do
      if not isForOther(texts[index]) and (not wanted or wanted[typeOf(texts[index])])
        and not isPaused(texts[index]) then
        candidates[#candidates + 1] = members[index]
        candidateTexts[#candidates] = texts[index]
        candidatePlaces[#candidates] = places[2 * index]
      end
    end
    for index, packed in ipairs(read(state, candidates)) do
      local fields = cmsgpack.unpack(packed)
      if fields[CREATED_AT] <= writtenBefore then
        size = size + 1
        found[size], fieldsOf[size], textOf[size] = candidates[index], fields, candidateTexts[index]
        if size == limit then return found, fieldsOf, textOf, { candidatePlaces[index], candidates[index] } end
      end
    end
    if #members < asked then return found, fieldsOf, textOf end
    rank = rank + #members
    lookedAt = lookedAt + #members
    place = { places[2 * #members], members[#members] }
  end
  return found, fieldsOf, textOf, place
end
`

/** Leases rows and returns them. `keptBy` is a holder whose rows count no loss. */
const lease = `
local function leaseRows(members, fieldsOf, textOf, owner, leaseMs, keptBy)
  local leaseEnd = math.ceil(now + leaseMs)
  local states, places = {}, {}
  for index = 1, #members do
    local member, fields = members[index], fieldsOf[index]
    local holder = fields[LOCKED_BY]
    if holder and holder ~= keptBy then fields[LOSSES] = fields[LOSSES] + 1 end
    fields[DELIVERIES] = fields[DELIVERIES] + 1
    fields[LOCKED_BY], fields[LOCKED_UNTIL] = owner, leaseEnd
    states[2 * index - 1], states[2 * index] = member, cmsgpack.pack(fields)
    places[2 * index - 1], places[2 * index] = leaseEnd, member
    answerRow(member, fields, textOf[index])
  end
  send('ZREM', due, members)
  send('ZREM', parked, members)
  send('HSET', state, states)
  send('ZADD', leased, places)
end
`

/**
 * Claims due rows. Arguments: owner and milliseconds of the lease, limit, due time and name to start from
 * (empty for the beginning), age in milliseconds below which to skip rows, destination behind `=` (empty for
 * any). Returns where to continue, or false, and the rows.
 */
export const claimScript = script(
  evenWhenFull,
  headOf,
  rankOf,
  isPaused,
  isForOther,
  freeLapsed,
  unpark,
  answerRow,
  dueRows,
  lease,
  `
wantDestination(ARGV[7])
local members, fieldsOf, textOf, place = dueRows(tonumber(ARGV[3]), ARGV[4], ARGV[5], now - tonumber(ARGV[6]))
leaseRows(members, fieldsOf, textOf, ARGV[1], tonumber(ARGV[2]))
return { place or false, answer }
`,
)

/**
 * Claims due rows of some types. Arguments as above; then how many rows to examine, 1 for rows of any type,
 * and pairs of event type and aggregate type. Returns the same.
 */
export const claimTypesScript = script(
  evenWhenFull,
  headOf,
  rankOf,
  isPaused,
  isForOther,
  freeLapsed,
  unpark,
  answerRow,
  dueRowsOfTypes,
  lease,
  `
wantDestination(ARGV[7])
local wanted = ARGV[9] ~= '1' and {}
for index = 10, #ARGV, 2 do wanted[typeName(ARGV[index], ARGV[index + 1])] = true end
local members, fieldsOf, textOf, place =
  dueRowsOfTypes(tonumber(ARGV[3]), ARGV[4], ARGV[5], now - tonumber(ARGV[6]), tonumber(ARGV[8]), wanted)
leaseRows(members, fieldsOf, textOf, ARGV[1], tonumber(ARGV[2]))
return { place or false, answer }
`,
)

/**
 * Claims the named rows. Arguments as for any rows, without a destination; then event id, destination, fence
 * and holder of each. An empty fence stands for any.
 */
export const claimIdsScript = script(
  evenWhenFull,
  headOf,
  rowsOfEvent,
  isPaused,
  answerRow,
  lease,
  `
local owner, limit, fromAt, fromMember = ARGV[1], tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5]
local found, seen = {}, {}
for index = 7, #ARGV, 4 do
  local member = memberOf(ARGV[index], ARGV[index + 1])
  local packed = member and not seen[member] and call('HGET', state, member)
  if packed then
    seen[member] = true
    local fields = stateOf(packed)
    local isFree = not fields[LOCKED_BY] or fields[LOCKED_UNTIL] <= now or fields[LOCKED_BY] == owner
    local isDue = (fields[STATUS] == NEW or fields[STATUS] == RETRY) and not fields[BLOCKED_AT]
      and fields[AVAILABLE_AT] <= now and fields[CREATED_AT] <= now - tonumber(ARGV[6])
    local isBehind = not fromAt or fields[AVAILABLE_AT] > fromAt
      or (fields[AVAILABLE_AT] == fromAt and member >= fromMember)
    local isSame = ARGV[index + 2] == ''
      or (tonumber(ARGV[index + 2]) == fields[DELIVERIES] and (fields[LOCKED_BY] or '') == ARGV[index + 3])
    if isFree and isDue and isBehind and isSame then
      local row = call('HGET', rows, member)
      if not isPaused(row) then found[#found + 1] = { member, fields, row } end
    end
  end
end
table.sort(found, function(a, b)
  if a[2][AVAILABLE_AT] ~= b[2][AVAILABLE_AT] then return a[2][AVAILABLE_AT] < b[2][AVAILABLE_AT] end
  return a[1] < b[1]
end)
local members, fieldsOf, textOf = {}, {}, {}
for index = 1, math.min(#found, limit) do
  members[index], fieldsOf[index], textOf[index] = unpack(found[index])
end
leaseRows(members, fieldsOf, textOf, owner, tonumber(ARGV[2]), owner)
return { false, answer }
`,
)

/**
 * Reads due rows for the owner of a lock. Returns false without the lock; otherwise the same as a claim.
 *
 * Arguments:
 *
 * - name and token of the lock
 * - milliseconds to renew the lock for (empty to leave it as it is)
 * - bounds of what is held: due time and name of both ends (four arguments, or four empty ones)
 * - limit
 * - due time and name to start from
 * - age in milliseconds below which to skip rows
 * - destination behind `=` (empty for any)
 */
export const pollScript = script(
  evenWhenFull,
  headOf,
  rankOf,
  isPaused,
  isForOther,
  freeLapsed,
  unpark,
  ownedLock,
  answerRow,
  dueRows,
  `
local lock = lockNamed(ARGV[1])
if not isOwned(lock, ARGV[2]) then return false end

local before = now - tonumber(ARGV[11])
wantDestination(ARGV[12])
local found, fieldsOf, textOf, place = dueRows(tonumber(ARGV[8]), ARGV[9], ARGV[10], before)

local bounds = ARGV[4] ~= '' and { tonumber(ARGV[4]), ARGV[5], tonumber(ARGV[6]), ARGV[7] }
for index = 1, #found do
  local at, member = fieldsOf[index][AVAILABLE_AT], found[index]
  bounds = bounds or { at, member, at, member }
  if at < bounds[1] or (at == bounds[1] and member < bounds[2]) then bounds[1], bounds[2] = at, member end
  if at > bounds[3] or (at == bounds[3] and member > bounds[4]) then bounds[3], bounds[4] = at, member end
  answerRow(member, fieldsOf[index], textOf[index])
end
lock[BOUNDS] = bounds
if ARGV[3] ~= '' then lock[UNTIL] = now + tonumber(ARGV[3]) end
call('HSET', locks, ARGV[1], cmsgpack.pack(lock))
return { place or false, answer }
`,
)
