/**
 * Adds an audit entry, and tells which rows it is about. An entry is a JSON array: time, actor, action,
 * detail, plan, state, affected, progress, time of the last step; false for none.
 */
export const addAudit = `
local AT, ACTOR, ACTION, DETAIL, PLAN, STATE, AFFECTED, PROGRESS, UPDATED_AT = 1, 2, 3, 4, 5, 6, 7, 8, 9

local function auditRows(id, ids)
  for _, row in ipairs(ids) do
    local name = row[1] .. '\\n' .. row[2]
    local before = call('HGET', auditsOfRows, name)
    call('HSET', auditsOfRows, name, before and (before .. ',' .. id) or id)
  end
end

local function addAudit(entry, ids, affected)
  local id = string.format('%.0f', call('HINCRBY', meta, 'audit', 1))
  local actor, action, detail, plan, status, progress = unpack(entry)
  local fields = { now, actor, action, detail, plan, status, affected or #ids, progress, plan and now }
  call('HSET', audits, id, cjson.encode(fields))
  call('ZADD', auditIds, id, id)
  auditRows(id, ids)
  return id
end
`
