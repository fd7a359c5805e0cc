// Makes the links and pictures of the copied README.md absolute, because the page of a registry shows it alone.
import { readFileSync, writeFileSync } from 'node:fs'

const repository = 'sendoff-outbox/sendoff'
const readme = new URL('README.md', import.meta.url)
const text = readFileSync(readme, 'utf8').replaceAll(
  /(!?)(\[[^\]]*\])\((?![a-z]+:|#)([^)]+)\)/g,
  (_, isPicture, name, path) =>
    isPicture === '!'
      ? `!${name}(https://raw.githubusercontent.com/${repository}/main/${path})`
      : `${name}(https://github.com/${repository}/blob/main/${path})`,
)
writeFileSync(readme, text)
