import { checkOptions, flag, type OptionCheck } from '../../options.ts'
import { codeRevision } from '../schema-revision.ts'

/** Options of `schemaSql`. */
export interface SchemaSqlOptions {
  /** The revision that the database has. Only the steps after it are returned. Default: 0, which has none. */
  readonly from?: number
  /** Whether the table has a routing, or gets one. Adds the indexes by destination. Default: false. */
  readonly destinations?: boolean
}

// SQL from a revision that does not exist would record a schema without its tables.
const revision: OptionCheck = (value) =>
  Number.isInteger(value) && (value as number) >= 0 && (value as number) <= codeRevision
    ? undefined
    : `a whole number from 0 to ${codeRevision}`

/** Returns the options with their defaults. Throws if one does not fit. */
export function checkedSchemaSqlOptions(options: SchemaSqlOptions = {}): Required<SchemaSqlOptions> {
  checkOptions('schemaSql', options, { from: revision, destinations: flag })
  const { from = 0, destinations = false } = options
  return { from, destinations }
}
