import { rollup } from '@rollup/wasm-node'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { packageOf } from '../read-imports.ts'
import type { InstalledPackage } from './installed-package.ts'

/**
 * Returns a bundle of `code` and all that it needs of one package, made by a bundler that heeds
 * `sideEffects`.
 */
export async function bundle(installed: InstalledPackage, code: string): Promise<string> {
  const { resolve } = createRequire(join(installed.projects.module, 'package.json'))
  const { sideEffects } = installed.manifest

  const build = await rollup({
    input: 'entry',
    external: (id) => /^[^./]/.test(id) && id !== 'entry' && packageOf(id) !== installed.name,
    treeshake: { moduleSideEffects: (id, external) => !external && (id === 'entry' || sideEffects) },
    plugins: {
      name: 'the package',
      resolveId(id, importer) {
        if (id === 'entry') return id
        return id.startsWith('.') ? join(dirname(importer!), id) : resolve(id)
      },
      load: (id) => (id === 'entry' ? code : undefined),
    },
    onLog(level, { code, message }) {
      if (code !== 'EMPTY_BUNDLE') throw new Error(`rollup says (${level}): ${message}`)
    },
  })
  const { output } = await build.generate({ format: 'es' })
  return output[0].code
}
