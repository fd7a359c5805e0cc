/** One place that breaks a rule of words. */
export interface Finding {
  /** Within the project, with forward slashes. */
  readonly file: string
  readonly line: number
  /** The word, where the rule is about one: exceptions name it. */
  readonly word?: string
  readonly message: string
}

/** All findings as one text: a line with the count for each file, and below it the file's findings by line. */
export function listFindings(findings: readonly Finding[]): string {
  const byFile = Map.groupBy(findings, ({ file }) => file)
  const files = [...byFile].sort(([one], [other]) => (one < other ? -1 : 1))
  const lines = files.flatMap(([file, found]) => [
    '',
    `${file}: ${found.length}`,
    ...found.toSorted((one, other) => one.line - other.line).map((each) => `  ${describe(each)}`),
  ])
  return [`${findings.length} findings in ${byFile.size} files`, ...lines].join('\n')
}

function describe({ file, line, message }: Finding): string {
  return `${file}:${line} ${message}`
}
