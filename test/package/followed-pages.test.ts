import { deepEqual, equal } from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { type TemporaryFolder, temporaryFolder } from '../services/machine/temporary-folder.ts'
import { type FollowedCommand, followPage } from './followed-page.ts'
import { packPackage } from './packed-package.ts'
import { readSteps, sectionOf } from './page-steps.ts'

const root = join(import.meta.dirname, '../..')

describe('a reader who does what a page says, word by word, in an empty folder', { concurrency: 2 }, () => {
  let packages: Readonly<Record<string, string>>
  before(async () => {
    packages = await packPackage('sendoff')
  })

  it('sees the event of the readme delivered, and again at the second run', async () => {
    const markdown = sectionOf(read('README.md'), 'Use it')
    const folder = temporaryFolder('readme')
    const first = await follow(folder, markdown)
    deepEqual(outputs(first), ['An order of 42 was placed. This is attempt 1.\n'])
    deepEqual(promises(first), outputs(first))
    deepEqual(outputs(await follow(folder, markdown)), outputs(first))
    folder.remove()
  })

  it('sees an event delivered after two minutes with SQLite', async () => {
    const folder = temporaryFolder('getting-started')
    const followed = await follow(folder, sectionOf(read('docs/getting-started.md'), 'SQLite in two minutes'))
    deepEqual(outputs(followed), ['An order of 42 was placed.\n'])
    deepEqual(promises(followed), outputs(followed))
    folder.remove()
  })

  it('sees all output that the first steps show', async () => {
    const folder = temporaryFolder('first-steps')
    const followed = await follow(folder, read('docs/first-steps.md'))
    deepEqual(outputs(followed), promises(followed))
    equal(outputs(followed).length, 4)
    folder.remove()
  })

  function follow({ path }: TemporaryFolder, markdown: string): Promise<readonly FollowedCommand[]> {
    return followPage(markdown, { folder: path, packages })
  }
})

describe('the steps of a page', () => {
  it('are its named files and its commands, with what these print', () => {
    const page =
      '# Page\n\n```sh\nnpm install\n```\n\nText.\n\n```js\n// a/b.mjs\nrun()\n```\n\n```ts\nconst unnamed = 1\n```\n\n' +
      '```sh\nnode a/b.mjs\n```\n\n```text\nran\n```\n'
    deepEqual(readSteps(page), [
      { kind: 'command', command: 'npm install\n', promised: undefined },
      { kind: 'file', name: 'a/b.mjs', text: '// a/b.mjs\nrun()\n' },
      { kind: 'command', command: 'node a/b.mjs\n', promised: 'ran\n' },
    ])
  })
})

function read(file: string): string {
  return readFileSync(join(root, file), 'utf8')
}

/** Returns the output of the commands that are not installations. */
function outputs(followed: readonly FollowedCommand[]): readonly string[] {
  return followed.filter(isRun).map(({ printed }) => printed)
}

function promises(followed: readonly FollowedCommand[]): readonly (string | undefined)[] {
  return followed.filter(isRun).map(({ promised }) => promised)
}

function isRun({ command }: FollowedCommand): boolean {
  return !command.startsWith('npm install')
}
