import { describeEnd, ProcessGroup, type ProcessGroupOptions } from './process-group.ts'

/** Runs a command to its end and resolves with its output. Rejects, with the output, if it fails. */
export async function runCommand(
  command: string,
  args: readonly string[],
  options: ProcessGroupOptions = {},
): Promise<string> {
  const group = new ProcessGroup(command, args, options)
  const end = await group.ended.finally(() => group.stop())
  if (end.code === 0) return group.output

  throw new Error(`${command} ${describeEnd(end)}. Its output:\n${group.output}`)
}
