/** Everything that a doctor can find. `docs/doctor.md` says what each code means, and what to do. */
export const findingCodes = [
  'AUTOVACUUM_BEHIND',
  'AUTOVACUUM_OFF',
  'CLAIMS_BY_KEYS',
  'CLOCKS_APART',
  'CONNECTIONS_SCARCE',
  'CONNECTIONS_UNENDING',
  'DATABASE_BLOATED',
  'DEAD_GROWING',
  'DURABILITY_OFF',
  'DURABILITY_REDUCED',
  'ENGINE_NOT_TRANSACTIONAL',
  'EVICTION_ON',
  'HORIZON_HELD',
  'INDEX_ALTERED',
  'INDEX_BLOATED',
  'INDEX_INVALID',
  'INDEX_MISSING',
  'ISOLATION_TOO_HIGH',
  'JOURNAL_NOT_WAL',
  'MODES_DIFFER',
  'NO_WORKER',
  'POOLER_WITH_LISTEN',
  'POOLER_WITH_PREPARED',
  'REPLICATION_SLOT_IDLE',
  'RIGHTS_MISSING',
  'ROWS_HIDDEN',
  'SCHEMA_AHEAD',
  'SCHEMA_BEHIND',
  'SCHEMA_INCOMPLETE',
  'SCHEMA_MISSING',
  'SCHEMA_TOO_NEW',
  'SERVER_TOO_OLD',
  'SKIP_LOCKED_IGNORED',
  'TABLE_UNLOGGED',
  'TIME_PARTITIONS_DIFFER',
  'TYPES_WITHOUT_LISTENER',
  'VERSIONS_DIFFER',
] as const

/** A code of the library. A store of your own may have codes of its own. */
export type FindingCode = (typeof findingCodes)[number]

/**
 * How bad a finding is. `error`: events may be lost, or are not delivered. `warning`: delivery is slower or
 * less safe than it should be, or soon will be. `info`: good to know.
 */
export type FindingSeverity = 'error' | 'warning' | 'info'

/** Something that an operator should know about an outbox. */
export interface Finding {
  readonly code: FindingCode | (string & {})
  readonly severity: FindingSeverity
  /** Says what is the case, and what follows from it. Has no payloads and no passwords. */
  readonly message: string
  /** Says what to do. */
  readonly fix: string
  /** Statements that do it, if statements can. The doctor never runs them. */
  readonly sql?: string
}

/** From when on some states count as a finding. */
export interface DoctorRequest {
  /** How many milliseconds a transaction may be open. */
  readonly longTransactionMs: number
  /** How many bytes of an index or a database file may be empty. */
  readonly bloatBytes: number
}

/** The limits of a doctor that is asked for nothing else. */
export const usualDoctorRequest: DoctorRequest = { longTransactionMs: 300_000, bloatBytes: 67_108_864 }
