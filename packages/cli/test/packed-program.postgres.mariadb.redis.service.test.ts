import { equal } from 'node:assert/strict'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { InstalledPackage } from '../../../test/package/installed-package.ts'
import { describeEnd, ProcessGroup } from '../../../test/services/processes/process-group.ts'

const isFull = process.env['SENDOFF_TEST_SCALE'] === 'full'

/** What a user does, on every store. */
const suites = [
  'commands/commands.test.ts',
  'commands/commands.postgres.service.test.ts',
  'commands/commands.mariadb.service.test.ts',
  'commands/commands.redis.service.test.ts',
  'commands/plans.test.ts',
  'commands/following.test.ts',
  'commands/dashboard.test.ts',
  'relay/relay.test.ts',
]

describe('the program as npm installs it', { skip: !isFull && 'Only at full scale.' }, () => {
  let program = ''
  before(async () => {
    const { projects } = await InstalledPackage.create('@sendoff/cli')
    program = join(projects.module, 'node_modules/.bin/sendoff')
  })
  for (const suite of suites) {
    it(`passes ${suite}`, async () => {
      const run = new ProcessGroup(process.execPath, [join(import.meta.dirname, suite)], {
        env: { ...process.env, NODE_TEST_CONTEXT: undefined, TESTED_PROGRAM: program },
      })
      const end = describeEnd(await run.ended)
      equal(end, 'ended with exit code 0', `${suite} ${end}. Its output:\n${run.output}`)
    })
  }
})
