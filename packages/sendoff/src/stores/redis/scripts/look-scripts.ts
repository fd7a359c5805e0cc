import { headOf, isForOther, partsOfSorted } from './row-functions.ts'
import { script } from './script.ts'

/**
 * Returns the rows behind a place, in the order asked for. Arguments: which rows (`written`, `pending` or
 * `dead`), `1` for the newest first, `seq` to start behind (empty for none), how many. Returns for each row
 * its name, the fields of its state, and its text.
 */
export const scanScript = script(`
local key = ARGV[1] == 'dead' and dead or ARGV[1] == 'pending' and pending or written
local members
if ARGV[2] == '1' then
  members = call('ZREVRANGEBYSCORE', key, ARGV[3] == '' and '+inf' or '(' .. ARGV[3], '-inf', 'LIMIT', 0, ARGV[4])
else
  members = call('ZRANGEBYSCORE', key, ARGV[3] == '' and '-inf' or '(' .. ARGV[3], '+inf', 'LIMIT', 0, ARGV[4])
end
local states, texts, answer = read(state, members), read(rows, members), {}
for index = 1, #members do
  local fields, isRead = stateOf(states[index])
  answer[index] = { members[index], fields, isRead and texts[index] }
end
return answer
`)

/**
 * Returns the time, the highest `seq`, how many rows each status has, how many pending rows are not blocked,
 * and the row that has been due for the longest time.
 */
export const overviewScript = script(
  headOf,
  isForOther,
  partsOfSorted,
  `
local counts = call('HMGET', meta, 'status0', 'status1', 'status2', 'status3')
local highest = call('ZREVRANGE', written, 0, 0)[1] or '0'
local first = call('ZRANGE', due, 0, 0, 'WITHSCORES')
for _, begin in ipairs(partOf and partsWanted() or {}) do
  local ofPart = call('ZRANGEBYSCORE', sorted, scoreText(begin), scoreText(begin + now), 'WITHSCORES', 'LIMIT', 0, 1)
  local at, before = ofPart[1] and tonumber(ofPart[2]) - begin, tonumber(first[2] or 'inf')
  if at and (at < before or (at == before and ofPart[1] < first[1])) then first = { ofPart[1], scoreText(at) } end
end
local oldest = false
if first[1] and tonumber(first[2]) <= now then
  local head = headOf(call('HGET', rows, first[1]))
  oldest = { head[1] or 'row-' .. first[1], head[2] or '', head[3] or '', first[2] }
end
return { now, highest, counts, call('ZCARD', pending), oldest }
`,
)

/**
 * Groups rows by status, event type and destination. Arguments: which rows (`written`, `pending` or
 * `dead`), `seq` to start below (empty for none), how many. Returns the groups, and where to continue.
 */
export const tallyScript = script(
  headOf,
  `
local key = ARGV[1] == 'dead' and dead or ARGV[1] == 'pending' and pending or written
local members = call('ZREVRANGEBYSCORE', key, ARGV[2] == '' and '+inf' or '(' .. ARGV[2], '-inf', 'LIMIT', 0, ARGV[3])
local states, texts, groups, names = read(state, members), read(rows, members), {}, {}
for index = 1, #members do
  local head = headOf(texts[index])
  local name = cjson.encode({ stateOf(states[index])[STATUS], head[3] or '', head[2] or '' })
  if not groups[name] then names[#names + 1] = name end
  groups[name] = (groups[name] or 0) + 1
end
local answer = {}
for index, name in ipairs(names) do answer[index] = { name, groups[name] } end
return { answer, members[#members] or false }
`,
)

/**
 * Returns the errors of the newest DEAD rows. Arguments: `seq` to start below (empty for none), how many, how
 * long an error may be. Returns for each row its name, event type, destination, error, end and event id.
 */
export const failuresScript = script(
  headOf,
  `
local members = call('ZREVRANGEBYSCORE', dead, ARGV[1] == '' and '+inf' or '(' .. ARGV[1], '-inf', 'LIMIT', 0, ARGV[2])
local states, texts, answer = read(state, members), read(rows, members), {}
for index, member in ipairs(members) do
  local fields, head = stateOf(states[index]), headOf(texts[index])
  answer[index] = { member, head[3] or '', head[2] or '', string.sub(fields[LAST_ERROR] or '', 1, tonumber(ARGV[3])),
    fields[DONE_AT] or fields[CREATED_AT], head[1] or 'row-' .. member }
end
return answer
`,
)
