/** Options of `schemaSql`. */
export interface SchemaSqlOptions {
  /** The revision that the database has. Only the steps after it are returned. Default: 0, which has none. */
  readonly from?: number
}
