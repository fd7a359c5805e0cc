import { addAudit } from './audit-functions.ts'
import { evenWhenFull, forget, headOf, rowsOfEvent, unsort } from './row-functions.ts'
import { script } from './script.ts'

/**
 * Acts on rows, and adds or continues an audit entry. Argument: the request as JSON, with `action`, `reason`,
 * `rows` (event id, destination, and fence or false), and `entry` or `step`. Returns 0 if another process
 * runs the plan. Otherwise returns 1, the changed rows, and the held rows with their holders.
 */
export const actionScript = script(
  evenWhenFull,
  headOf,
  rowsOfEvent,
  unsort,
  forget,
  addAudit,
  `
local request = cjson.decode(ARGV[1])
local action, step = request.action, request.step
local plan
if step then
  plan = call('HGET', audits, step.id)
  plan = plan and cjson.decode(plan)
  if not plan or plan[PROGRESS] ~= step.expects then return { 0 } end
end

local living = {}
if action == 'cancel' then
  for _, packed in ipairs(call('HVALS', locks)) do
    local lock = cmsgpack.unpack(packed)
    if lock[2] > now and lock[3] then living[#living + 1] = lock end
  end
end
local function holderOf(member, fields)
  if fields[LOCKED_BY] then return fields[LOCKED_UNTIL] > now and fields[LOCKED_BY] end
  if fields[BLOCKED_AT] then return false end
  local at = fields[AVAILABLE_AT]
  for _, lock in ipairs(living) do
    local low, lowMember, high, highMember = unpack(lock[3])
    low, high = tonumber(low), tonumber(high)
    if (at > low or at == low and member >= lowMember) and (at < high or at == high and member <= highMember) then
      return lock[1]
    end
  end
  return false
end

local changedIds, held, members, eventIds, states, newDue, bySeq = {}, {}, {}, {}, {}, {}, {}
local seen = {}
local function becomes(fields, status)
  count(fields[STATUS], -1)
  count(status, 1)
  fields[STATUS] = status
end
for _, row in ipairs(request.rows) do
  local eventId, destination, fence = row[1], row[2], row[3]
  local member = memberOf(eventId, destination)
  local packed = member and not seen[member] and call('HGET', state, member)
  local fields = packed and stateOf(packed)
  if fields and (not fence or fields[DELIVERIES] == fence) then
    seen[member] = true
    local isPending = fields[STATUS] == NEW or fields[STATUS] == RETRY
    local applies
    if action == 'replay' then applies = fields[STATUS] == DEAD
    elseif action == 'purge' then applies = not isPending
    else applies = isPending and (action == 'cancel' or fields[BLOCKED_AT]) end
    local holder = applies and action == 'cancel' and holderOf(member, fields)
    if holder then held[#held + 1] = { eventId, destination, holder }
    elseif applies then
      changedIds[#changedIds + 1] = { eventId, destination }
      members[#members + 1] = member
      eventIds[#eventIds + 1] = eventId
      bySeq[#bySeq + 1] = tonumber(member)
      bySeq[#bySeq + 1] = member
      if action == 'purge' then count(fields[STATUS], -1)
      else
        -- The fence rises: a process that held the row before must not settle it now.
        fields[DELIVERIES] = fields[DELIVERIES] + 1
        fields[LOSSES] = 0
        if action == 'replay' then
          becomes(fields, NEW)
          fields[ATTEMPTS], fields[AVAILABLE_AT] = 0, now
          fields[DONE_AT], fields[LAST_ERROR] = false, false
          newDue[#newDue + 1] = now
          newDue[#newDue + 1] = member
        else
          becomes(fields, DEAD)
          fields[DONE_AT], fields[LAST_ERROR] = now, request.reason
          local entry = cjson.encode({ fields[ATTEMPTS], now, request.reason, fields[LOCKED_BY] })
          local before = call('HGET', attempts, member)
          call('HSET', attempts, member, before and (before .. ',' .. entry) or entry)
        end
        fields[LOCKED_BY], fields[LOCKED_UNTIL], fields[BLOCKED_AT] = false, false, false
        states[#states + 1] = member
        states[#states + 1] = cmsgpack.pack(fields)
      end
    end
  end
end

send('HSET', state, states)
if action == 'purge' then forget(members, eventIds)
elseif action == 'replay' then
  send('ZREM', dead, members)
  send('ZADD', due, newDue)
  send('ZADD', pending, bySeq)
else
  for _, key in ipairs({ leased, due, parked, sorted, pending }) do send('ZREM', key, members) end
  send('ZADD', dead, bySeq)
end
sendCounts()

if step then
  plan[AFFECTED] = plan[AFFECTED] + #changedIds
  plan[PROGRESS], plan[STATE], plan[UPDATED_AT] = step.progress, step.state, now
  call('HSET', audits, step.id, cjson.encode(plan))
  auditRows(step.id, changedIds)
elseif #changedIds > 0 then
  addAudit(request.entry, changedIds)
end
return { 1, changedIds, held }
`,
)

/** Adds an audit entry. Arguments: the entry and its rows as JSON, affected rows. Returns its id. */
export const recordScript = script(
  evenWhenFull,
  addAudit,
  'return addAudit(cjson.decode(ARGV[1]), cjson.decode(ARGV[2]), tonumber(ARGV[3]))',
)

/** Returns audit entries with their ids, newest first. Arguments: id to start before or `+inf`, limit. */
export const auditScript = script(`
local found = call('ZREVRANGEBYSCORE', auditIds, ARGV[1], '-inf', 'LIMIT', 0, ARGV[2])
local answer = {}
for index, entry in ipairs(read(audits, found)) do answer[index] = { found[index], entry } end
return answer
`)

/** Returns one audit entry. Argument: its id. */
export const auditEntryScript = script(`
local entry = call('HGET', audits, ARGV[1])
return entry and { { ARGV[1], entry } } or {}
`)

/** Returns the newest audit entries about a row, oldest first. Arguments: event id, destination, limit. */
export const auditOfScript = script(`
local found, answer = {}, {}
for id in string.gmatch(call('HGET', auditsOfRows, ARGV[1] .. '\\n' .. ARGV[2]) or '', '%d+') do found[#found + 1] = id end
for index, entry in ipairs(read(audits, found)) do
  if entry then answer[#answer + 1] = { found[index], entry } end
end
local newest = {}
for index = math.max(1, #answer - tonumber(ARGV[3]) + 1), #answer do newest[#newest + 1] = answer[index] end
return newest
`)

/** Deletes old audit entries, except plans that run. Arguments: age in ms, limit. Returns how many. */
export const purgeAuditScript = script(
  evenWhenFull,
  `
local cutoff, limit = now - tonumber(ARGV[1]), tonumber(ARGV[2])
local oldest = call('ZRANGE', auditIds, 0, 9999)
local gone = {}
for index, text in ipairs(read(audits, oldest)) do
  local entry = text and cjson.decode(text)
  if #gone >= limit or entry and entry[1] >= cutoff then break end
  if not entry or entry[6] ~= 'running' then gone[#gone + 1] = oldest[index] end
end
send('HDEL', audits, gone)
send('ZREM', auditIds, gone)
return #gone
`,
)
