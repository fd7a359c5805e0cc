import { deepEqual, equal, match } from 'node:assert/strict'
import { mkdtempSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import ts from 'typescript'
import { wordExceptions } from './exceptions.ts'
import { findBareExports, frontDoors } from './export-rule.ts'
import { type Finding, listFindings } from './finding.ts'
import { pageFindings, projectFindings, sourceFindings } from './project-words.ts'
import { readPage } from './read-page.ts'
import { sentencesOf } from './sentence-rule.ts'
import { hidingWords, mayHideActor, withoutExceptions } from './word-rule.ts'

const library = 'packages/sendoff/src/x.ts'

describe('the words of the project', () => {
  it('keep every rule', () => {
    const findings = projectFindings()
    if (findings.length > 0) throw new Error(listFindings(findings))
  })

  it('have exceptions that each give a reason', () => {
    for (const { file, word, reason } of wordExceptions) {
      equal(word in hidingWords && reason.length > 20, true, `${file}, ${word}: ${reason}`)
    }
  })
})

describe('the rule for hiding words', () => {
  const phrases: readonly [phrase: string, word: string][] = [
    ['a row that nobody holds', 'nobody'],
    ["somebody's lock", 'somebody'],
    ['Anybody may ask.', 'anybody'],
    ['the part of everybody else', 'everybody'],
    ['no one sees it', 'no one'],
    ['No-one sees it', 'no one'],
    ['it belongs to someone', 'someone'],
    ['anyone who asks', 'anyone'],
    ['told to everyone', 'everyone'],
    ['Whoever has it closes it.', 'whoever'],
    ['whosoever has it', 'whoever'],
    ['the worker whom it woke', 'whom'],
    ['whomever it woke', 'whomever'],
    ['the rows in hand', 'in hand'],
    ['a row in its hands', 'in its hands'],
    ["a row in a worker's hands", 'in its hands'],
    ['it goes on with the next', 'goes on with'],
    ['the outage is gone on with', 'goes on with'],
  ]
  for (const [phrase, word] of phrases) {
    it(`finds "${word}" in every place where a reader meets it: ${phrase}`, () => {
      const inLibrary = [
        `/** ${phrase} */`,
        `f() // ${phrase}`,
        `throw new OutboxError('X', ${JSON.stringify(phrase)})`,
        `logger.warn(\`\${name}: ${phrase} \${id}\`)`,
      ]
      for (const text of inLibrary) deepEqual(wordsOf(inSource(library, text)), [word], text)
      for (const text of [phrase, `# ${phrase}`, `- ${phrase}`, `| a | ${phrase} |`, `> ${phrase}`]) {
        deepEqual(wordsOf(pageFindings('docs/x.md', text)), [word], text)
      }
      deepEqual(wordsOf(inSource('test/x.ts', `// ${phrase}`)), [word])
    })
  }

  it('finds a phrase over two lines, at the line where it begins', () => {
    for (const text of [
      '\n/**\n * a row in\n * hand\n */',
      '\n\n// a row in\n// hand',
      '\n\n/* a row in\n   hand */',
    ]) {
      const found = inSource('test/x.ts', text)
      deepEqual([mayHideActor(text), ...found.map(({ word, line }) => [word, line])], [true, ['in hand', 3]])
    }
    deepEqual(
      pageFindings('x.md', 'One line.\nA row in\nhand.').map(({ line }) => line),
      [2],
    )
  })

  it('tells comments from code that looks like one', () => {
    const texts = [
      "const address = 'https://nobody'",
      'const pattern = /[/*] nobody/',
      'const text = `a ${b /* c */ } // nobody ${c} /* nobody */`',
      'type Text = `a ${B} // nobody`',
      'const nobody = half / 2 // nothing',
    ]
    for (const text of texts) deepEqual(inSource('test/x.ts', text), [], text)
    deepEqual(wordsOf(inSource('test/x.ts', 'const text = `${a // nobody\n}`')), ['nobody'])
  })

  it('lets code have its names', () => {
    deepEqual(
      pageFindings('x.md', 'The role `nobody` and\n\n```sql\ngrant nobody\n```\n\n<!-- nobody -->'),
      [],
    )
    deepEqual(pageFindings('x.md', 'A [link](page.md#nobody-listens) and ``a `nobody` ``.'), [])
  })

  it('leaves names of other things alone', () => {
    deepEqual(inSource(library, `const lane = 'nobody'`), [])
    const text = '// the other hand, on one hand; some one row; it goes on; whole; a handler in handling'
    deepEqual(inSource('test/x.ts', text), [])
  })

  it('allows exceptions by file and word, and asks for the end of those that allow nothing', () => {
    const exception = { file: 'a.md', word: 'nobody', reason: '' }
    const found = pageFindings('a.md', 'nobody and somebody').concat(pageFindings('b.md', 'nobody'))

    const left = withoutExceptions(found, [exception, { ...exception, word: 'whom' }])
    deepEqual(
      left.map(({ file, message }) => `${file} ${message}`),
      [
        'a.md "somebody" hides the actor: nobody and somebody',
        'b.md "nobody" hides the actor: nobody',
        'a.md no longer has "whom": take it from test/words/exceptions.ts',
      ],
    )
  })
})

describe('the rule for the width of comments', () => {
  const wide = 'x'.repeat(111)

  it('finds wide lines of comments in the library', () => {
    for (const text of [`\n// ${wide}`, `\n/** ${wide} */`, `/**\n * ${wide}\n */`, `\nf() // ${wide}`]) {
      const [found, ...others] = inSource(library, text)
      deepEqual([found?.line, others], [2, []], text)
      match(found!.message, /a comment line of 1\d\d columns; 110 are allowed/)
    }
  })

  it('lets code, tests and links be wide', () => {
    deepEqual(inSource(library, `const text = '${wide}'\n// https://${wide}\n// ${'x'.repeat(107)}`), [])
    deepEqual(inSource('test/x.ts', `// ${wide}`), [])
  })
})

describe('the rule for long sentences', () => {
  const long = `This ${'very '.repeat(28)}long sentence.`
  const short = 'This one is short. '

  it('finds them where more than a tenth of the sentences are long', () => {
    deepEqual(pageFindings('x.md', short.repeat(9) + long), [])
    const [found, ...others] = pageFindings('x.md', `${short.repeat(4)}\n${short.repeat(4)}\n${long}`)
    deepEqual([found?.line, others], [3, []])
    match(found!.message, /^a sentence of 31 words \(1 of 9 sentences are long\): This very very/)
  })

  it('counts a code span as one word, and a link by its text', () => {
    const counted = (text: string) => sentencesOf(readPage(text)).map(({ words }) => words)
    deepEqual(counted('Call `a b c d` once – then [stop here](a/b.md "c d"), please.'), [7])
    deepEqual(
      counted(
        'Wait 1.5 s for a.b, e.g. for this. Then go on there. `x` is the second (or not?). "No," it said then.',
      ),
      [8, 4, 6, 4],
    )
  })

  it('reads a table cell by cell and a list item by item, and leaves out labels and headings', () => {
    const page = `# A heading of four words\n\n| \`a\` | 30 s | one cell has this |\n| --- | --- | --- |\n\n- one item\n  goes over two\n- the other item ends.`
    deepEqual(
      sentencesOf(readPage(page)).map(({ line, text }) => `${line} ${text}`),
      ['3 one cell has this', '6 one item goes over two', '8 the other item ends.'],
    )
  })
})

describe('the rule for exports', () => {
  const files = {
    'package.json': JSON.stringify({
      exports: {
        '.': { types: './dist/index.d.ts' },
        './b': { types: './dist/b.d.ts' },
        './package.json': './package.json',
      },
    }),
    'src/index.ts': [
      `export { bare, told, type ToldOptions } from './a.ts'`,
      `export * from './a.ts'`,
      '/** Told. */',
      'export class Told {}',
      'export class Bare {}',
      '/** @deprecated */',
      'export type Tagged = string',
      '// No doc comment.',
      'export type Commented = string',
    ].join('\n'),
    'src/a.ts': [
      'export const bare = 1',
      '/** Told. */',
      'export const told = 1',
      'interface Base {',
      '  base: string',
      '}',
      '/** Told. */',
      'export interface ToldOptions extends Partial<Base> {',
      '  /** Told. */',
      '  told: string',
      '  bare: string',
      '}',
      '/** Told. */',
      'export type UnionSettings = { one: 1 } | {\n/** Told. */\ntwo: 2 }',
      '/** Told. */',
      'export interface Other {',
      '  bare: string',
      '}',
    ].join('\n'),
    'src/b.ts': 'export function alone() {}',
  }

  it('finds those of every subpath without a doc comment, and options without one', () => {
    const root = mkdtempSync(join(tmpdir(), 'sendoff-exports-'))
    try {
      mkdirSync(join(root, 'src'))
      for (const [file, text] of Object.entries(files)) writeFileSync(join(root, file), text)
      const doors = frontDoors(root)
      const program = ts.createProgram(doors, {
        module: ts.ModuleKind.NodeNext,
        lib: ['lib.es5.d.ts'],
        types: [],
        allowImportingTsExtensions: true,
      })
      const found = findBareExports(root, doors, program)

      deepEqual(found.map(({ file, line, message }) => `${file}:${line} ${message.split(' ')[0]}`).sort(), [
        'src/a.ts:1 bare',
        'src/a.ts:11 ToldOptions.bare',
        'src/a.ts:14 UnionSettings.one',
        'src/a.ts:5 ToldOptions.base',
        'src/b.ts:1 alone',
        'src/index.ts:5 Bare',
        'src/index.ts:7 Tagged',
        'src/index.ts:9 Commented',
      ])
    } finally {
      rmSync(root, { recursive: true })
    }
  })
})

describe('the list of findings', () => {
  it('counts them by file, and has the lines of a file in order', () => {
    const at = (file: string, line: number): Finding => ({ file, line, message: 'is wrong' })
    equal(
      listFindings([at('b.ts', 10), at('a.ts', 1), at('b.ts', 9)]),
      '3 findings in 2 files\n\na.ts: 1\n  a.ts:1 is wrong\n\nb.ts: 2\n  b.ts:9 is wrong\n  b.ts:10 is wrong',
    )
  })
})

function inSource(file: string, text: string): readonly Finding[] {
  return sourceFindings(file, ts.createSourceFile(file, text, ts.ScriptTarget.Latest))
}

function wordsOf(findings: readonly Finding[]): readonly (string | undefined)[] {
  return findings.map(({ word }) => word)
}
