import { it } from 'node:test'
import { runMysqlGrowingSchema } from './run-growing-schema.ts'

// Changes of a schema take MySQL long.
if (process.env['SENDOFF_TEST_SCALE'] === 'full') runMysqlGrowingSchema('MYSQL_URL')
else it('a growing schema', { skip: 'it takes minutes, and runs with SENDOFF_TEST_SCALE=full' }, () => {})
