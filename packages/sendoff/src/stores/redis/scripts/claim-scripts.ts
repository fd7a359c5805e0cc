import {
  evenWhenFull,
  freeLapsed,
  headOf,
  isForOther,
  isPaused,
  ownedLock,
  partsOfSorted,
  rankOf,
  rowsOfEvent,
  sortDue,
  unpark,
  unsort,
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
 * Reads due places of rows that no process holds, in due order: of all rows, or of those that are sorted by
 * destination. Each reader goes on behind what it has read.
 */
const duePlaces = `
-- Returns a reader of one set, from a rank on. It takes how many to read, and how many of those that it read
-- before have left the set. It returns their names and due times.
local function readerOf(key, begin, fromAt, fromMember)
  local rank, over = 0, math.huge
  if begin then
    rank = rankOf(key, scoreText(begin + (tonumber(fromAt) or 0)), fromMember)
    over = call('ZCOUNT', key, '-inf', scoreText(begin + now))
  elseif fromAt ~= '' then rank = rankOf(key, fromAt, fromMember) end
  return function(wanted, gone)
    rank, over = rank - gone, over - gone
    wanted = math.min(wanted, over - rank)
    local members, times = {}, {}
    if wanted <= 0 then return members, times end
    local window = call('ZRANGE', key, rank, rank + wanted - 1, 'WITHSCORES')
    local count, base = 0, begin or 0
    for index = 1, #window, 2 do
      local at = tonumber(window[index + 1]) - base
      if at > now then break end
      count = count + 1
      members[count], times[count] = window[index], at
    end
    rank = rank + count
    return members, times
  end
end
`

/**
 * Finds due rows that no process holds, in due order. Sets paused rows aside, so that each is examined once.
 * Examines some thousands of rows at most. If these were not enough, the result says where to continue.
 */
const dueRows = `
local function dueRowsOf(key, begin, limit, fromAt, fromMember, writtenBefore)
  local found, fieldsOf, textOf, size, lookedAt = {}, {}, {}, 0, 0
  local readNext, gone = readerOf(key, begin, fromAt, fromMember), 0
  local place
  while size < limit do
    if lookedAt > limit + 2000 then return found, fieldsOf, textOf, place end
    local wanted = math.min(limit - size, 1000)
    local members, times = readNext(wanted, gone)
    if #members == 0 then break end

    local states, texts = read(state, members), read(rows, members)
    local aside, places = {}, {}
    for index = 1, #members do
      local fields, isRead = stateOf(states[index])
      if not isRead then fields[AVAILABLE_AT], texts[index] = times[index], false end
      if isAnyPaused and isPaused(texts[index]) then
        aside[#aside + 1] = members[index]
        places[#places + 1] = scoreText(times[index])
        places[#places + 1] = members[index]
      elseif isForOther(texts[index]) then
        beginSorting()
      elseif fields[CREATED_AT] <= writtenBefore then
        size = size + 1
        found[size], fieldsOf[size], textOf[size] = members[index], fields, texts[index]
      end
    end
    send('ZREM', key, aside)
    send('ZADD', parked, places)
    gone = #aside
    lookedAt = lookedAt + #members
    place = { scoreText(times[#members]), memberBehind(members[#members]) }
    if #members < wanted then break end
  end
  return found, fieldsOf, textOf
end

-- Rows for any destination of a sorted table: those of all parts, up to where the first reader had to stop.
local function dueRowsOfParts(begins, limit, ...)
  local all, place = {}, nil
  for _, begin in ipairs(begins) do
    local found, fieldsOf, textOf, stop = dueRowsOf(sorted, begin, limit, ...)
    for index, member in ipairs(found) do all[#all + 1] = { member, fieldsOf[index], textOf[index] } end
    if stop and (not place or isEarlier(tonumber(stop[1]), stop[2], tonumber(place[1]), place[2])) then place = stop end
  end
  table.sort(all, function(a, b) return isEarlier(a[2][AVAILABLE_AT], a[1], b[2][AVAILABLE_AT], b[1]) end)
  local found, fieldsOf, textOf = {}, {}, {}
  for index = 1, math.min(#all, limit) do
    local member, fields, text = unpack(all[index])
    if place and not isEarlier(fields[AVAILABLE_AT], member, tonumber(place[1]), place[2]) then break end
    found[index], fieldsOf[index], textOf[index] = member, fields, text
  end
  return found, fieldsOf, textOf, place
end

local function dueRows(limit, fromAt, fromMember, writtenBefore)
  freeLapsed(math.max(limit, 1000))
  unpark()
  if not partOf then return dueRowsOf(due, nil, limit, fromAt, fromMember, writtenBefore) end

  local isMoreToSort = sortDue()
  local begins = partsWanted()
  local found, fieldsOf, textOf, place
  if #begins == 1 then
    found, fieldsOf, textOf, place = dueRowsOf(sorted, begins[1], limit, fromAt, fromMember, writtenBefore)
  else
    found, fieldsOf, textOf, place = dueRowsOfParts(begins, limit, fromAt, fromMember, writtenBefore)
  end
  if place or not isMoreToSort then return found, fieldsOf, textOf, place end
  local last = #found
  if last == 0 then place = { fromAt ~= '' and fromAt or '0', fromMember }
  else place = { scoreText(fieldsOf[last][AVAILABLE_AT]), memberBehind(found[last]) } end
  return found, fieldsOf, textOf, place
end
`

const placesInOrder = `
local function isEarlier(at, member, otherAt, otherMember)
  return at < otherAt or (at == otherAt and member < otherMember)
end

local function memberBehind(member)
  return string.format('%016.0f', tonumber(member) + 1)
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

local function dueRowsOfTypesIn(key, begin, limit, fromAt, fromMember, writtenBefore, window, wanted)
  local found, fieldsOf, textOf, size, lookedAt = {}, {}, {}, 0, 0
  local readNext = readerOf(key, begin, fromAt, fromMember)
  local place
  while lookedAt < window do
    local asked = math.min(window - lookedAt, 1000)
    local members, times = readNext(asked, 0)
    local texts = read(rows, members)
    local candidates, candidateTexts, candidatePlaces = {}, {}, {}
    for index = 1, #members do
      if isForOther(texts[index]) then
        beginSorting()
      elseif (not wanted or wanted[typeOf(texts[index])]) and not isPaused(texts[index]) then
        candidates[#candidates + 1] = members[index]
        candidateTexts[#candidates] = texts[index]
        candidatePlaces[#candidates] = scoreText(times[index])
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
    lookedAt = lookedAt + #members
    place = { scoreText(times[#members]), members[#members] }
  end
  return found, fieldsOf, textOf, place
end

local function dueRowsOfTypes(limit, fromAt, fromMember, ...)
  freeLapsed(math.max(limit, 1000))
  unpark()
  if not partOf then return dueRowsOfTypesIn(due, nil, limit, fromAt, fromMember, ...) end

  local from = { fromAt ~= '' and fromAt or '0', fromMember }
  local next = sortDue() and from or nil
  local all, allFields, allTexts = {}, {}, {}
  -- A claim without a destination empties one part after the other. Claimed rows leave their part, so that the
  -- earliest place at which a part goes on is right for all.
  for _, begin in ipairs(partsWanted()) do
    local found, fieldsOf, textOf, place = {}, {}, {}, from
    if #all < limit then
      found, fieldsOf, textOf, place = dueRowsOfTypesIn(sorted, begin, limit - #all, fromAt, fromMember, ...)
    end
    for index, member in ipairs(found) do
      all[#all + 1], allFields[#all + 1], allTexts[#all + 1] = member, fieldsOf[index], textOf[index]
    end
    if place and (not next or isEarlier(tonumber(place[1]), place[2], tonumber(next[1]), next[2])) then next = place end
  end
  return all, allFields, allTexts, next
end
`

const sorting = [partsOfSorted, sortDue, placesInOrder, duePlaces]

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
  unsort(members)
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
  ...sorting,
  freeLapsed,
  unpark,
  unsort,
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
  ...sorting,
  freeLapsed,
  unpark,
  unsort,
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
  unsort,
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
  ...sorting,
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
