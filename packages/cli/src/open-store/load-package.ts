import { createRequire } from 'node:module'
import { join } from 'node:path'
import { OutboxError } from 'sendoff/store'

/**
 * Returns the first of these packages that is installed beside this one, or in the project of the working
 * folder; undefined if there is none.
 */
export function firstInstalled<Name extends string>(
  names: readonly Name[],
): { readonly name: Name; readonly module: unknown } | undefined {
  for (const name of names) {
    const module = loadPackage(name)
    if (module !== undefined) return { name, module }
  }
  return undefined
}

/** Returns a package, or throws `OUTBOX_DRIVER_MISSING` with what to install. */
export function requirePackage<Name extends string>(
  purpose: string,
  names: readonly Name[],
): { readonly name: Name; readonly module: unknown } {
  const found = firstInstalled(names)
  if (found !== undefined) return found
  const [first, ...others] = names.map(packageOf)
  const instead = others.length === 0 ? '' : ` (or ${others.join(', or ')})`
  throw new OutboxError(
    'OUTBOX_DRIVER_MISSING',
    `${purpose} needs a driver, and none is installed. Run npm install ${first}${instead}, then try again.`,
  )
}

// `mysql2` for `mysql2/promise`.
function packageOf(name: string): string {
  return name
    .split('/')
    .slice(0, name.startsWith('@') ? 2 : 1)
    .join('/')
}

function loadPackage(name: string): unknown {
  const places = [import.meta.url, join(process.cwd(), 'package.json')]
  for (const place of places) {
    const load = createRequire(place)
    try {
      return load(name)
    } catch (error) {
      if (!isMissing(error, name)) throw error
    }
  }
  return undefined
}

// A package that is installed but lacks one of its own packages is another fault.
function isMissing(error: unknown, name: string): boolean {
  const { code, message } = error as { readonly code?: unknown; readonly message?: unknown }
  return (
    (code === 'MODULE_NOT_FOUND' || code === 'ERR_MODULE_NOT_FOUND') &&
    String(message).split('\n')[0]!.includes(`'${name}'`)
  )
}
