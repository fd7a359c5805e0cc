/**
 * How deeply objects and lists of a payload may be nested. JSON parsers of most languages can go that deep.
 */
export const maxPayloadDepth = 1_000

const quote = 34
const backslash = 92
// A bracket of an object is that of a list plus this bit.
const listBit = 32
const opening = 123
const closing = 125

/** Whether JSON text is nested too deeply. Most texts are too short for that, and need no scan. */
export function isTooDeep(json: string): boolean {
  return json.length > 2 * maxPayloadDepth && hasManyBrackets(json) && depthOf(json) > maxPayloadDepth
}

/**
 * Whether there are enough brackets to be too deep, including those within texts. This is far cheaper to
 * compute than the depth.
 */
function hasManyBrackets(json: string): boolean {
  let count = 0
  for (const bracket of ['[', '{']) {
    for (let place = json.indexOf(bracket); place >= 0; place = json.indexOf(bracket, place + 1)) {
      count += 1
      if (count > maxPayloadDepth) return true
    }
  }
  return false
}

function depthOf(json: string): number {
  let depth = 0
  let deepest = 0
  for (let place = 0; place < json.length; place += 1) {
    const code = json.charCodeAt(place)
    if (code === quote) place = endOfText(json, place)
    else if ((code | listBit) === opening) deepest = Math.max(deepest, (depth += 1))
    else if ((code | listBit) === closing) depth -= 1
  }
  return deepest
}

/** Returns where the text that begins at `start` ends: at the next quotation mark that is not escaped. */
function endOfText(json: string, start: number): number {
  let place = start + 1
  for (
    let code = json.charCodeAt(place);
    code !== quote && place < json.length;
    code = json.charCodeAt(place)
  ) {
    place += code === backslash ? 2 : 1
  }
  return place
}
