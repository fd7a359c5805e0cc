import { evenWhenFull, unsort } from './row-functions.ts'
import { script } from './script.ts'

const heldRow = `
local function heldRow(member, packed, holder, deliveries)
  local fields = packed and stateOf(packed)
  local isHeld = fields and fields[LOCKED_BY] == holder and fields[DELIVERIES] == deliveries
    and (fields[STATUS] == NEW or fields[STATUS] == RETRY)
  return isHeld and fields
end

local function heldRows(first)
  local members = {}
  for index = first, #ARGV, 3 do members[#members + 1] = ARGV[index] end
  return members, read(state, members)
end
`

/**
 * Leases rows anew. Returns the places of those that were lost, counted from 1. Arguments: milliseconds; for
 * each row name, holder, deliveries.
 */
export const renewScript = script(
  evenWhenFull,
  unsort,
  heldRow,
  `
local leaseEnd = math.ceil(now + tonumber(ARGV[1]))
local members, states = heldRows(2)
local lost, kept, changed, places = {}, {}, {}, {}
for index = 1, #members do
  local fields = heldRow(members[index], states[index], ARGV[3 * index], tonumber(ARGV[3 * index + 1]))
  if fields then
    fields[LOCKED_UNTIL] = leaseEnd
    kept[#kept + 1] = members[index]
    changed[#changed + 1] = members[index]
    changed[#changed + 1] = cmsgpack.pack(fields)
    places[#places + 1] = leaseEnd
    places[#places + 1] = members[index]
  else
    lost[#lost + 1] = index
  end
end
send('HSET', state, changed)
send('ZREM', due, kept)
send('ZREM', parked, kept)
unsort(kept)
send('ZADD', leased, places)
return lost
`,
)

/** Frees rows. Arguments: for each row name, holder, deliveries. */
export const releaseScript = script(
  evenWhenFull,
  unsort,
  heldRow,
  `
local members, states = heldRows(1)
local freed, changed, places = {}, {}, {}
for index = 1, #members do
  local fields = heldRow(members[index], states[index], ARGV[3 * index - 1], tonumber(ARGV[3 * index]))
  if fields then
    fields[LOCKED_BY], fields[LOCKED_UNTIL] = false, false
    freed[#freed + 1] = members[index]
    changed[#changed + 1] = members[index]
    changed[#changed + 1] = cmsgpack.pack(fields)
    places[#places + 1] = fields[AVAILABLE_AT]
    places[#places + 1] = members[index]
  end
end
send('HSET', state, changed)
send('ZREM', leased, freed)
send('ZREM', parked, freed)
unsort(freed)
send('ZADD', due, places)
`,
)
