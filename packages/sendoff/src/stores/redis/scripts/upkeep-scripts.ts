import { addAudit } from './audit-functions.ts'
import {
  evenWhenFull,
  forget,
  headOf,
  isPaused,
  rankOf,
  rowsOfEvent,
  unpark,
  unsort,
} from './row-functions.ts'
import { script } from './script.ts'

/**
 * Deletes old rows among the first ones behind a `seq`, and old idempotency keys. Arguments: `seq` (empty
 * when no rows are left to examine), limit, ages in ms of DONE, DEAD and all rows and of keys (empty to keep
 * them). Returns how many rows and keys were deleted, and the last row examined, or false if no later row can
 * be old enough.
 */
export const purgeScript = script(
  evenWhenFull,
  headOf,
  rowsOfEvent,
  unsort,
  forget,
  `
local limit = tonumber(ARGV[2])
local function cutoff(age) return age ~= '' and now - tonumber(age) end
local doneCutoff, deadCutoff, anyCutoff, keyCutoff = cutoff(ARGV[3]), cutoff(ARGV[4]), cutoff(ARGV[5]), cutoff(ARGV[6])
local youngest = math.max(doneCutoff or -math.huge, deadCutoff or -math.huge, anyCutoff or -math.huge)

local outlived, last = {}, false
if ARGV[1] ~= '' then
  local members = call('ZRANGEBYSCORE', written, '(' .. ARGV[1], '+inf', 'LIMIT', 0, limit)
  local areAllYoung = true
  for index, packed in ipairs(read(state, members)) do
    local fields = stateOf(packed)
    local status, createdAt = fields[STATUS], fields[CREATED_AT]
    local ownCutoff = status == DONE and doneCutoff or status == DEAD and deadCutoff
    if createdAt < youngest then areAllYoung = false end
    if (anyCutoff and createdAt < anyCutoff) or (ownCutoff and (fields[DONE_AT] or createdAt) < ownCutoff) then
      outlived[#outlived + 1] = members[index]
      count(status, -1)
    end
  end
  if #members == limit and not areAllYoung then last = members[#members] end
end
forget(outlived)
sendCounts()

local oldKeys = {}
if keyCutoff then oldKeys = call('ZRANGEBYSCORE', keyTimes, '-inf', '(' .. keyCutoff, 'LIMIT', 0, limit) end
send('HDEL', keys, oldKeys)
send('ZREM', keyTimes, oldKeys)
return { #outlived, #oldKeys, last }
`,
)

/**
 * Lifts a pause and brings back some of the rows that were set aside. Arguments: the name of the pause, empty
 * to continue; perhaps an audit entry as JSON. Returns 1 while there are more.
 */
export const resumeScript = script(
  evenWhenFull,
  headOf,
  rankOf,
  addAudit,
  `
if ARGV[1] ~= '' then
  call('SREM', paused, ARGV[1])
  call('HSET', meta, 'unparkFrom', '-inf 0')
end
if ARGV[2] then addAudit(cjson.decode(ARGV[2]), {}) end
`,
  isPaused,
  unpark,
  'return unpark() and 1 or 0',
)

/**
 * Registers a process, unless living processes have another mode. Arguments: id, mode (behind `=`; empty
 * without one), milliseconds. Returns 1, what is paused, the last mode and the routing; or 0, and the mode
 * and ids of the living processes.
 */
export const joinScript = script(
  evenWhenFull,
  `
local id, mode = ARGV[1], ARGV[2]
local living, ofLiving, started = nil, {}, now
local known = call('HGETALL', nodes)
for index = 1, #known, 2 do
  local node = cmsgpack.unpack(known[index + 1])
  if known[index] == id then started = node[2] > now and node[3] or now end
  if node[2] <= now then
    call('HDEL', nodes, known[index])
    call('HDEL', reports, known[index])
  elseif known[index] ~= id and node[1] ~= '' then
    living = living or node[1]
    if node[1] == living then ofLiving[#ofLiving + 1] = known[index] end
  end
end
if mode ~= '' and living and living ~= mode then
  table.sort(ofLiving)
  return { 0, living, ofLiving }
end
call('HSET', nodes, id, cmsgpack.pack({ mode, now + tonumber(ARGV[3]), started }))
if mode ~= '' then call('HSET', meta, 'mode', mode) end
return { 1, call('SMEMBERS', paused), call('HGET', meta, 'mode') or '', call('HMGET', meta, 'routingVersion', 'routing') }
`,
)

const schemaValues = "return call('HMGET', meta, 'version', 'revision', 'oldest_code', 'made_by')"

/**
 * Sets what is stored about the schema. Data that newer code has made keep their higher numbers. Returns
 * version, revision, the oldest code and the package that made it. Arguments: the same.
 */
export const migrateScript = script(
  evenWhenFull,
  `
call('HSETNX', meta, 'version', ARGV[1])
if tonumber(call('HGET', meta, 'revision') or '0') < tonumber(ARGV[2]) then
  call('HSET', meta, 'revision', ARGV[2], 'made_by', ARGV[4])
end
if tonumber(call('HGET', meta, 'oldest_code') or '0') < tonumber(ARGV[3]) then
  call('HSET', meta, 'oldest_code', ARGV[3])
end
`,
  schemaValues,
)

/** Returns what is stored about the schema, as `migrateScript`; nothing without data. */
export const versionScript = script(schemaValues)

const storedRouting = "return call('HMGET', meta, 'routingVersion', 'routing')"

/**
 * Stores a routing, unless one with the same or a higher version is there. Arguments: version, content, the
 * oldest revision of code that may run from now on: the first release reads it as `version`. Returns version
 * and content of the one that is stored.
 */
export const publishRoutingScript = script(
  evenWhenFull,
  `
if tonumber(call('HGET', meta, 'routingVersion') or '0') < tonumber(ARGV[1]) then
  call('HSET', meta, 'routingVersion', ARGV[1], 'routing', ARGV[2])
  if tonumber(call('HGET', meta, 'oldest_code') or '0') < tonumber(ARGV[3]) then
    call('HSET', meta, 'oldest_code', ARGV[3], 'version', ARGV[3])
  end
end
`,
  storedRouting,
)

/** Returns version and content of the stored routing; nothing without one. */
export const routingScript = script(storedRouting)

/** Sets a pause. Arguments: what to pause; perhaps an audit entry as JSON. */
export const pauseScript = script(
  evenWhenFull,
  addAudit,
  `
call('SADD', paused, ARGV[1])
if ARGV[2] then addAudit(cjson.decode(ARGV[2]), {}) end
`,
)

export const pausedScript = script("return call('SMEMBERS', paused)")

/** Ends the registration of a process. Argument: its id. */
export const leaveScript = script("call('HDEL', nodes, ARGV[1])", "call('HDEL', reports, ARGV[1])")

/** Signals to the processes that listen. Arguments: the channel, the signal's text. */
export const announceScript = script("call('PUBLISH', ARGV[1], ARGV[2])")

/** Shows that the server responds. */
export const pingScript = script('return now')
