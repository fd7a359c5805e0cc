import { createHash } from 'node:crypto'
import { keyspaceNames } from '../redis-keyspace.ts'

/** A Lua script: one state change of the store, atomic because Redis runs one script at a time. */
export interface Script {
  readonly text: string
  readonly sha: string
}

/**
 * Makes a script from the parts that it uses. All parts get the keys of the outbox by name, and `now` by the
 * clock of Redis.
 */
export function script(...parts: readonly string[]): Script {
  const text = [head, ...parts].map(withoutMargin).join('\n')
  return { text, sha: createHash('sha1').update(text).digest('hex') }
}

// We shorten the text: within a transaction, all of it is sent with each write.
function withoutMargin(part: string): string {
  const lines = part.split('\n').map((line) => line.trim())
  return lines.filter((line) => line !== '' && !line.startsWith('--')).join('\n')
}

// Names the fields of a packed state once. cmsgpack keeps arrays, which are half the size of maps. A field
// without a value is false: nil would turn the array into a map.
//
// A row that was changed by hand must not fail a script: all other rows would wait with it. A state that
// cannot be read counts as that of a new row.
const head = `
local ${keyspaceNames} = unpack(KEYS)
local call = redis.call
local NEW, DONE, RETRY, DEAD = 0, 1, 2, 3
local STATUS, ATTEMPTS, DELIVERIES, LOSSES, AVAILABLE_AT, CREATED_AT = 1, 2, 3, 4, 5, 6
local LOCKED_BY, LOCKED_UNTIL, DONE_AT, BLOCKED_AT, LAST_ERROR, WRITE = 7, 8, 9, 10, 11, 12

local time = call('TIME')
local micros = time[1] * 1000000 + time[2]
local now = math.floor(micros / 1000)

local function stateOf(packed)
  local isRead, fields = pcall(cmsgpack.unpack, packed)
  if isRead and type(fields) == 'table' and #fields == WRITE then return fields, true end
  return { NEW, 0, 0, 0, now, now, false, false, false, false, false, '' }, false
end

-- A call takes a few thousand arguments at most.
local function send(command, key, values)
  for first = 1, #values, 4000 do
    call(command, key, unpack(values, first, math.min(first + 3999, #values)))
  end
end

-- The values of fields, false where there is none.
local function read(key, fields)
  if #fields == 0 then return {} end
  if #fields <= 4000 then return call('HMGET', key, unpack(fields)) end
  local values = {}
  for first = 1, #fields, 4000 do
    local some = call('HMGET', key, unpack(fields, first, math.min(first + 3999, #fields)))
    for index = 1, #some do values[#values + 1] = some[index] end
  end
  return values
end

local counted = {}
local function count(status, by)
  counted[status] = (counted[status] or 0) + by
end
local function sendCounts()
  for status, by in pairs(counted) do
    if by ~= 0 then call('HINCRBY', meta, 'status' .. status, by) end
  end
end
`
