/** The options that every command has. */
export interface CommonOptions {
  readonly url?: string
  readonly config?: string
  readonly table?: string
  readonly schema?: string
  readonly as?: string
  readonly json?: boolean
  readonly color: boolean
}

/** The options that choose events. */
export interface FilterOptions {
  readonly status?: string
  readonly id?: string
  readonly type?: string
  readonly destination?: string
  readonly key?: string
  readonly tenant?: string
  readonly aggregate?: string
  readonly since?: string
  readonly until?: string
  readonly error?: string
  readonly text?: string
}
