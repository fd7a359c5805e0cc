import { evenWhenFull } from './row-functions.ts'
import { script } from './script.ts'

/**
 * Stores a report, and statistics. Arguments: id, report, seconds that statistics are kept without another
 * report, and for each row of statistics its minute, its field and its text. Returns whether the process is
 * registered, and the time.
 */
export const reportScript = script(
  evenWhenFull,
  `
local known = call('HGET', nodes, ARGV[1])
local isLiving = known and cmsgpack.unpack(known)[2] > now
if isLiving then call('HSET', reports, ARGV[1], cmsgpack.pack({ now, ARGV[2] })) end
for index = 4, #ARGV, 3 do
  call('HSET', stats, ARGV[index + 1], ARGV[index + 2])
  call('ZADD', statMinutes, ARGV[index], ARGV[index + 1])
end
if #ARGV > 3 then
  call('EXPIRE', stats, ARGV[3])
  call('EXPIRE', statMinutes, ARGV[3])
end
return { isLiving and 1 or 0, now }
`,
)

/**
 * Returns living processes: id, mode behind `=`, start or false, time left, and time and text of the report.
 */
export const livingScript = script(`
local living = {}
local known = call('HGETALL', nodes)
for index = 1, #known, 2 do
  local node = cmsgpack.unpack(known[index + 1])
  if node[2] > now then
    local packed = call('HGET', reports, known[index])
    local report = packed and cmsgpack.unpack(packed) or { false, false }
    living[#living + 1] = { known[index], node[1], node[3] or false, math.ceil(node[2] - now), report[1], report[2] }
  end
end
return living
`)

/** Returns fields and texts of statistics, newest minute first. Arguments: age in ms, limit. */
export const statisticsScript = script(`
local fields = call('ZREVRANGEBYSCORE', statMinutes, '+inf', now - tonumber(ARGV[1]), 'LIMIT', 0, tonumber(ARGV[2]))
return { fields, read(stats, fields) }
`)

/** Deletes the oldest statistics. Arguments: age in ms, limit. Returns how many. */
export const forgetStatisticsScript = script(
  evenWhenFull,
  `
local old = call('ZRANGEBYSCORE', statMinutes, '-inf', '(' .. (now - tonumber(ARGV[1])), 'LIMIT', 0, tonumber(ARGV[2]))
send('HDEL', stats, old)
send('ZREM', statMinutes, old)
return #old
`,
)
