import { globSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { boostDocument } from './boost-document.ts'
import { processTerm, tokenize } from './search-terms.ts'

interface Index {
  search(words: string): readonly { readonly id: string }[]
}

interface MiniSearch {
  loadJSON(json: string, options: object): Index
}

/** The search of a built site, as the reader's browser runs it. */
export class SiteSearch {
  readonly #index: Index

  private constructor(index: Index) {
    this.#index = index
  }

  /** Loads the index that is in the folder of a built site, with the library of the site. */
  static async load(built: string): Promise<SiteSearch> {
    const [file] = globSync('assets/chunks/@localSearchIndexroot*.js', { cwd: built })
    if (file === undefined) throw new Error(`${built} has no search index.`)
    const { default: json } = (await import(pathToFileURL(join(built, file)).href)) as { default: string }
    const library = join(import.meta.dirname, '../node_modules/minisearch/dist/es/index.js')
    const { default: miniSearch } = (await import(pathToFileURL(library).href)) as { default: MiniSearch }
    return new SiteSearch(
      // These are the options of VitePress, and those that the site adds.
      miniSearch.loadJSON(json, {
        fields: ['title', 'titles', 'text'],
        storeFields: ['title', 'titles'],
        tokenize,
        processTerm,
        searchOptions: {
          fuzzy: 0.2,
          prefix: true,
          boost: { title: 4, text: 2, titles: 1 },
          boostDocument,
        },
      }),
    )
  }

  /** Returns the pages that fit, best first, each once. */
  pagesFor(words: string): readonly string[] {
    const pages = this.#index.search(words).map(({ id }) => id.replace(/^\/|(?:\.html)?(?:#.*)?$/g, ''))
    return [...new Set(pages)]
  }
}
