import { equal } from 'node:assert/strict'
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { nodeArguments } from '../../../test/decorators/node-arguments.ts'
import { npm } from '../../../test/package/npm.ts'
import { temporaryFolder } from '../../../test/services/machine/temporary-folder.ts'
import { describeEnd, ProcessGroup } from '../../../test/services/processes/process-group.ts'
import { projectRoot } from '../../../test/workspace.ts'

const isFull = process.env['SENDOFF_TEST_SCALE'] === 'full'

/** The oldest supported release of Nest, with the packages that fit it. */
const olderNest = {
  '@nestjs/common': '11.2.10',
  '@nestjs/core': '11.2.10',
  '@nestjs/config': '4.0.4',
  '@nestjs/platform-express': '11',
  '@nestjs/platform-fastify': '11',
  '@nestjs/terminus': '11.1.1',
  '@nestjs/testing': '11',
  'reflect-metadata': '0.2.2',
  rxjs: '7.8.2',
}

const suites = [
  'config',
  'dashboard-module',
  'dashboard-on-fastify',
  'lifecycle',
  'listeners',
  'observing',
  'pipeline',
  'testing-module',
  'worker-module',
]

describe('the module on Nest 11', { skip: !isFull && 'npm run test:full installs Nest 11' }, () => {
  it('passes the tests of the module', async (test) => {
    const folder = temporaryFolder('nest-11')
    test.after(() => folder.remove())
    const at = (...path: string[]) => join(folder.path, ...path)
    writeFileSync(
      at('package.json'),
      JSON.stringify({ private: true, type: 'module', dependencies: olderNest }),
    )
    await npm(folder.path, ['install'], 600_000)

    // Copies, because Node resolves the imports of a link from the place that it leads to.
    for (const [name, path] of [
      ['sendoff', 'packages/sendoff'],
      ['@sendoff/dashboard', 'packages/dashboard'],
      ['@sendoff/nestjs', 'packages/nestjs'],
    ] as const) {
      mkdirSync(at('node_modules', name), { recursive: true })
      for (const part of ['package.json', 'dist']) {
        cpSync(join(projectRoot, path, part), at('node_modules', name, part), { recursive: true })
      }
    }
    for (const name of ['typescript', 'prom-client']) {
      symlinkSync(join(projectRoot, 'node_modules', name), at('node_modules', name))
    }
    for (const path of ['packages/nestjs/src', 'packages/nestjs/test', 'test/decorators']) {
      cpSync(join(projectRoot, path), at(path), { recursive: true })
    }
    const { version } = JSON.parse(readFileSync(at('node_modules/@nestjs/core/package.json'), 'utf8')) as {
      version: string
    }
    equal(version, olderNest['@nestjs/core'])

    const hook = nodeArguments('@Module()').map((each) => each.replace(projectRoot, folder.path))
    for (const suite of suites) {
      const file = at('packages/nestjs/test', `${suite}.test.ts`)
      const run = new ProcessGroup(process.execPath, [...hook, file], {
        cwd: folder.path,
        env: { ...process.env, NODE_TEST_CONTEXT: undefined },
      })
      const end = describeEnd(await run.ended)
      equal(end, 'ended with exit code 0', `${suite} ${end}. Its output:\n${run.output}`)
    }
  })
})
