import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { findTestFiles, longFirst } from './runner/find-test-files.ts'
import { countsLine, progress, summary } from './runner/print-results.ts'
import { runTestFile } from './runner/run-test-file.ts'
import { countTests, type TestFileResult, type TestResult } from './runner/test-result.ts'
import { type LaunchedServices, servicesAreRequired, withServices } from './services/launcher/launcher.ts'
import { namingMistake, neededServices } from './services/launcher/needed-services.ts'
import { services } from './services/services.ts'
import { runFolderVariable } from './services/machine/run-folder.ts'
import { temporaryFolder } from './services/machine/temporary-folder.ts'

const { values: options, positionals: words } = parseArgs({
  allowPositionals: true,
  options: {
    unit: { type: 'boolean', default: false },
    full: { type: 'boolean', default: false },
    'timeout-ms': { type: 'string', default: '600000' },
  },
})
const root = process.cwd()
const startedAt = performance.now()
const required = servicesAreRequired(process.env)
const files = findTestFiles(root, { words, unitOnly: options.unit })

if (files.length === 0) {
  const filter =
    words.length > 0 ? ` has ${words.map((word) => `"${word}"`).join(' or ')} in its path` : ' was found'
  console.log(`No ${options.unit ? 'unit test' : 'test'} file${filter}.`)
  console.log(countsLine({ passed: 0, failed: 0, skipped: 0 }))
  process.exitCode = 1
} else {
  const names = new Set(files.flatMap(neededServices))
  const needed = services.filter((service) => names.has(service.name))
  const results = await withServices(needed, runFiles)

  const counts = countTests(results.flatMap((result) => result.tests))
  console.log(summary(results, performance.now() - startedAt, root))
  process.exitCode = counts.failed > 0 || counts.passed === 0 ? 1 : 0
}

/**
 * Runs the files and prints each result as soon as the file ended. One more runs at a time than there are
 * cores, because many wait for servers and time limits.
 */
async function runFiles(
  launched: LaunchedServices,
  interrupted: AbortSignal,
): Promise<readonly TestFileResult[]> {
  for (const [name, version] of Object.entries(launched.versions)) {
    console.log(`Service ${name}: version ${version}`)
  }
  const missing = reportMissing(launched)
  const shared = temporaryFolder('run')
  const environment = {
    ...process.env,
    ...launched.environment,
    [runFolderVariable]: shared.path,
    // A process spends most of its start on reading TypeScript, and a run starts thousands.
    NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? join(shared.path, 'compiled-code'),
    ...(options.full && { SENDOFF_TEST_SCALE: 'full' }),
  }
  const reports = temporaryFolder('reports')
  const waiting = [...files.entries()].sort(([, one], [, other]) => longFirst(one, other))
  const results: TestFileResult[] = []

  const runNext = async (): Promise<void> => {
    for (let next = waiting.shift(); next && !interrupted.aborted; next = waiting.shift()) {
      const [index, file] = next
      const result =
        resultWithoutRun(file, launched) ??
        (await runTestFile(file, {
          root,
          reportFile: join(reports.path, `${index}.jsonl`),
          environment,
          timeoutMs: Number(options['timeout-ms']),
          interrupted,
        }))
      results[index] = result
      console.log(progress(result, root, options.full))
    }
  }

  try {
    await Promise.all(Array.from({ length: availableParallelism() + 1 }, runNext))
  } finally {
    reports.remove()
    shared.remove()
  }
  return [...missing, ...results]
}

/**
 * Reports missing services. A missing service skips the files that need it. If it is required, it also fails
 * the run.
 */
function reportMissing({ missing }: LaunchedServices): readonly TestFileResult[] {
  for (const { service, reason } of missing) {
    console.log(
      `MISSING SERVICE ${service.name}: ${reason}. Set ${service.urlVariable} to use one that runs.`,
    )
  }
  return missing
    .filter(({ service }) => required && !service.extra)
    .map(({ service, reason }) =>
      verdict(`service ${service.name}`, {
        outcome: 'failed',
        path: [],
        error: `Required by REQUIRE_SERVICES, but ${reason}.`,
      }),
    )
}

function resultWithoutRun(file: string, { missing }: LaunchedServices): TestFileResult | undefined {
  const mistake = namingMistake(
    file,
    services.map((service) => service.name),
  )
  if (mistake) return verdict(file, { outcome: 'failed', path: [], error: mistake })

  const absent = missing.filter(({ service }) => neededServices(file).includes(service.name))
  if (absent.length === 0) return undefined

  const reason = `missing service ${absent.map(({ service }) => service.name).join(', ')}`
  return verdict(file, { outcome: 'skipped', path: [], reason })
}

function verdict(file: string, test: TestResult): TestFileResult {
  return { file, durationMs: 0, tests: [test], notes: [], output: '' }
}
