import { listFindings } from './finding.ts'
import { projectFindings } from './project-words.ts'

// `node test/words/list-findings.ts` prints what `words.test.ts` fails with.
console.log(listFindings(projectFindings()))
