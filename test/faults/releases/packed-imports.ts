// Lets the programs of an old release import its packed code: `src/x.ts` of the library is its `dist/x.js`.
import { registerHooks } from 'node:module'

const library = /^(.*\/\.cache\/sendoff-test\/releases\/.*\/packages\/sendoff)\/src\/(.*)\.ts$/

registerHooks({
  resolve(specifier, context, nextResolve) {
    if (!specifier.startsWith('.') || context.parentURL === undefined) return nextResolve(specifier, context)
    const [, folder, name] = library.exec(new URL(specifier, context.parentURL).href) ?? []
    return folder === undefined
      ? nextResolve(specifier, context)
      : nextResolve(`${folder}/dist/${name}.js`, context)
  },
})
