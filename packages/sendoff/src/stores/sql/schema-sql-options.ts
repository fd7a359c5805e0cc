/** Options of `schemaSql`. */
export interface SchemaSqlOptions {
  /** The revision that the database has. Only the steps after it are returned. Default: 0, which has none. */
  readonly from?: number
  /** Whether the table has a routing, or gets one. Adds the indexes by destination. Default: false. */
  readonly destinations?: boolean
}
