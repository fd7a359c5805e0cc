import { deepEqual, match } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { firstSchema } from '../../../src/stores/mysql/schema/first-schema.ts'
import { mysqlTables } from '../../../src/stores/mysql/schema/mysql-tables.ts'

describe('the schema on TiDB', () => {
  for (const partitionBy of [undefined, 'day'] as const) {
    it(`has numbers of events that rise on all servers, ${partitionBy ? 'in parts' : 'in one table'}`, () => {
      const statements = firstSchema(mysqlTables(undefined, 'outbox_event', partitionBy))
      const withOption = statements.filter((text) =>
        /\) engine = .* \/\*T!\[auto_id_cache\] auto_id_cache 1 \*\//.test(text),
      )
      deepEqual(withOption, [statements[0]])
      match(withOption[0]!, /seq +bigint +not null auto_increment/)
    })
  }
})
