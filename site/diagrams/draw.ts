import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { diagrams } from './diagrams.ts'
import { svgOf } from './drawing.ts'

// Draws the diagrams of the pages again: `node site/diagrams/draw.ts`.
const folder = join(import.meta.dirname, '../../docs/diagrams')
mkdirSync(folder, { recursive: true })
for (const drawing of diagrams) writeFileSync(join(folder, `${drawing.name}.svg`), svgOf(drawing))
