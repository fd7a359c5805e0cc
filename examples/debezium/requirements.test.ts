import { equal } from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { temporaryFolder } from '../../test/services/machine/temporary-folder.ts'

describe('the example about Debezium', () => {
  it('says that it lacks Java and the engine', (t) => {
    const empty = temporaryFolder('debezium')
    t.after(() => empty.remove())

    const { status, stderr } = spawnSync(process.execPath, [join(import.meta.dirname, 'debezium.ts')], {
      encoding: 'utf8',
      env: { PATH: empty.path, DEBEZIUM_CLASS_PATH: empty.path },
    })
    equal(
      stderr,
      'The example cannot run here. It lacks:\n' +
        '- Java 17 or newer on the PATH.\n' +
        `- OutboxRelay.class and the jars of Debezium's engine in the class path ${empty.path}. Maven makes ` +
        'both: "mvn -f examples/debezium package dependency:copy-dependencies".\n',
    )
    equal(status, 1)
  })
})
