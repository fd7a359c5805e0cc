/**
 * Lets a script run although the server's memory is full. Redis then refuses commands that add something,
 * except in a script that has removed something first. So stored events are still delivered and settled.
 */
export const evenWhenFull = `
call('HDEL', meta, 'full')
`

/**
 * Reads the first line of a row's text: event id, destination, event type, aggregate type and id, tenant, and
 * more. Returns nothing if it cannot be read.
 */
export const headOf = `
local function headOf(row)
  local lineEnd = row and string.find(row, '\\n', 1, true)
  if not lineEnd then return {} end
  local isRead, head = pcall(cjson.decode, string.sub(row, 1, lineEnd - 1))
  return isRead and type(head) == 'table' and head or {}
end
`

/**
 * Returns the rows of an event by destination; nil without any. A row whose text cannot be read has an id
 * made from its name, as in `eventRow`.
 */
export const rowsOfEvent = `
local function rowsOfEvent(text)
  if not text then return nil end
  if string.sub(text, 1, 1) ~= '{' then return { [''] = text } end
  local isRead, members = pcall(cjson.decode, text)
  return isRead and members or nil
end

local function memberOf(eventId, destination)
  local members = rowsOfEvent(call('HGET', ids, eventId))
  if members then return members[destination] end
  return string.match(eventId, '^row%-(%d+)$')
end
`

/** Takes rows out of the parts for destinations. Most outboxes have none. */
export const unsort = `
local function unsort(members)
  if #members > 0 and call('EXISTS', sorted) == 1 then send('ZREM', sorted, members) end
end
`

/**
 * Removes rows with everything that belongs to them. Reads their event ids from their texts if they are not
 * given. Needs `headOf`, `rowsOfEvent` and `unsort`.
 */
export const forget = `
local function forgetDestination(member)
  local row = call('HGET', rows, member)
  local head = headOf(row)
  local members = head[1] and rowsOfEvent(call('HGET', ids, head[1]))
  if not members or members[head[2]] ~= member then return end
  members[head[2]] = nil
  if next(members) then call('HSET', ids, head[1], cjson.encode(members)) else call('HDEL', ids, head[1]) end
end

local function forget(members, eventIds)
  if #members == 0 then return end
  if call('EXISTS', auditsOfRows) == 1 then
    local names = {}
    for index, row in ipairs(read(rows, members)) do
      local head = headOf(row)
      if head[1] then names[#names + 1] = head[1] .. '\\n' .. tostring(head[2]) end
    end
    send('HDEL', auditsOfRows, names)
  end
  local idsGone, known = {}, eventIds and read(ids, eventIds)
  for index = 1, #members do
    if known and known[index] == members[index] then idsGone[#idsGone + 1] = eventIds[index]
    else forgetDestination(members[index]) end
  end
  send('HDEL', ids, idsGone)
  for _, key in ipairs({ rows, state, attempts }) do send('HDEL', key, members) end
  for _, key in ipairs({ written, pending, due, leased, parked, dead }) do send('ZREM', key, members) end
  unsort(members)
end
`

/** Returns the rank of a place in a set ordered by due time: that of the first row at or behind it. */
export const rankOf = `
local function rankOf(key, at, member)
  local low = call('ZCOUNT', key, '-inf', '(' .. at)
  local high = call('ZCOUNT', key, '-inf', at)
  while low < high do
    local middle = math.floor((low + high) / 2)
    if call('ZRANGE', key, middle, middle)[1] < member then low = middle + 1 else high = middle end
  end
  return low
end
`

/** Whether a control pauses a row. Reads the pauses once. Needs `headOf`. */
export const isPaused = `
local pausedNames = {}
for _, name in ipairs(call('SMEMBERS', paused)) do pausedNames[name] = true end
local isAnyPaused = next(pausedNames) ~= nil

local function isPaused(row)
  if not isAnyPaused then return false end
  local head = headOf(row)
  return pausedNames['type:' .. tostring(head[3])] or pausedNames['destination:' .. tostring(head[2])] or false
end
`

/**
 * Whether a row is for another destination than the wanted one. An argument names it behind `=`, or is empty
 * for any. It is mostly read without decoding. A row that cannot be read counts as one for the empty
 * destination. Needs `headOf`.
 */
export const isForOther = `
local wantedDestination = nil
local function wantDestination(argument)
  if argument and argument ~= '' then wantedDestination = string.sub(argument, 2) end
end

local headStart = '^%["[^"\\\\]*","([^"\\\\]*)"'
local function destinationOf(row)
  local destination = row and string.match(row, headStart)
  if not destination then destination = headOf(row)[2] end
  return type(destination) == 'string' and destination or ''
end

local function isForOther(row)
  if not wantedDestination then return false end
  return (row and string.match(row, headStart) or destinationOf(row)) ~= wantedDestination
end
`

/**
 * The parts of `sorted`. A score is the number of a destination and a due time: 10 and 43 bits. So a part is
 * a range of scores, and a row leaves it by its name. The last part is for all destinations that come later.
 */
export const partsOfSorted = `
local SPAN, LAST_PART = 8796093022208, 1023
local partOf = call('HGET', meta, 'destinations')
partOf = partOf and cjson.decode(partOf)

local function scoreText(score)
  return string.format('%.0f', score)
end

-- Returns where the part of the wanted destination begins, or where all begin if none is wanted.
local function partsWanted()
  if wantedDestination then return { (partOf[wantedDestination] or LAST_PART) * SPAN } end
  local begins = { LAST_PART * SPAN }
  for _, part in pairs(partOf) do begins[#begins + 1] = part * SPAN end
  return begins
end
`

/**
 * Sorts due rows by destination, so that a claim for one reads none of another. That begins with the first
 * row that a claim passes over, because most outboxes have one destination. Needs `isForOther` and
 * `partsOfSorted`.
 */
export const sortDue = `
local function beginSorting()
  if partOf then return end
  partOf = { [''] = 0 }
  call('HSET', meta, 'destinations', cjson.encode(partOf))
end

local function newPart(destination)
  local size = 0
  for _ in pairs(partOf) do size = size + 1 end
  if size == LAST_PART then return LAST_PART end
  partOf[destination] = size
  call('HSET', meta, 'destinations', cjson.encode(partOf))
  return size
end

-- Returns whether there are more.
local function sortDue()
  if not partOf then return false end
  for _ = 1, 2 do
    local window = call('ZRANGEBYSCORE', due, '-inf', now, 'WITHSCORES', 'LIMIT', 0, 1000)
    local members, places = {}, {}
    for index = 1, #window, 2 do members[#members + 1] = window[index] end
    for index, row in ipairs(read(rows, members)) do
      local destination = destinationOf(row)
      local part = partOf[destination] or newPart(destination)
      places[#places + 1] = scoreText(part * SPAN + math.max(0, tonumber(window[2 * index])))
      places[#places + 1] = members[index]
    end
    send('ZREM', due, members)
    send('ZADD', sorted, places)
    if #members < 1000 then return false end
  end
  return true
end
`

/** Makes rows whose lease has run out claimable. They keep the name of their holder. */
export const freeLapsed = `
local function freeLapsed(limit)
  local members = call('ZRANGEBYSCORE', leased, '-inf', now, 'LIMIT', 0, limit)
  if #members == 0 then return end
  local places = {}
  for index, packed in ipairs(read(state, members)) do
    places[#places + 1] = stateOf(packed)[AVAILABLE_AT]
    places[#places + 1] = members[index]
  end
  send('ZREM', leased, members)
  send('ZADD', due, places)
end
`

/**
 * Brings back rows that were set aside and are not paused any more, five hundred at a time. The process that
 * resumes something repeats this to the end. If it vanishes on the way, claims continue the work. Needs
 * `rankOf` and `isPaused`.
 */
export const unpark = `
local function unpark()
  local place = call('HGET', meta, 'unparkFrom')
  if not place then return false end
  local at, member = string.match(place, '^(%S+) (%S+)$')
  local rank = rankOf(parked, at, member)
  local window = call('ZRANGE', parked, rank, rank + 499, 'WITHSCORES')
  local members, places, freed = {}, {}, {}
  for index = 1, #window, 2 do members[#members + 1] = window[index] end
  for index, row in ipairs(read(rows, members)) do
    if not (row and isPaused(row)) then
      freed[#freed + 1] = members[index]
      places[#places + 1] = window[2 * index]
      places[#places + 1] = members[index]
    end
  end
  send('ZREM', parked, freed)
  send('ZADD', due, places)
  if #members < 500 then
    call('HDEL', meta, 'unparkFrom')
    return false
  end
  call('HSET', meta, 'unparkFrom', window[#window] .. ' ' .. members[#members])
  return true
end
`

/** Whether the owner named by the first arguments still has its lock; `lock` is then its content. */
export const ownedLock = `
local TOKEN, UNTIL, BOUNDS = 1, 2, 3
local function lockNamed(name)
  local packed = call('HGET', locks, name)
  return packed and cmsgpack.unpack(packed)
end
local function isOwned(lock, token)
  return lock and lock[TOKEN] == token and lock[UNTIL] > now
end
`
