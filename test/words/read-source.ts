import ts from 'typescript'
import { proseOf, type Prose } from './prose.ts'

/** The words of a TypeScript file. */
export interface SourceWords {
  /** Its comments. Line comments that follow one another are one comment. */
  readonly comments: readonly Prose[]
  /** The lines on which comments stand. */
  readonly commentLines: readonly number[]
  /** Its string literals of several words, and templates without what they insert. A single word is data. */
  readonly strings: readonly Prose[]
}

/** The words of a parsed file. The scanner finds the comments; the tree helps it over templates and regular expressions. */
export function readSource(source: ts.SourceFile): SourceWords {
  const { strings, rescanned } = readLiterals(source)
  const ranges = commentRanges(source.text, rescanned)
  const lineOf = (position: number) => source.getLineAndCharacterOfPosition(position).line + 1

  const comments: CommentLine[][] = []
  for (const range of ranges) {
    const lines = linesOfComment(source.text.slice(range.pos, range.end), lineOf(range.pos))
    const before = comments.at(-1)
    const follows = range.isLine && before?.at(-1)?.line === lines[0]!.line - 1 && before.at(-1)!.isLine
    if (follows) before.push(...lines)
    else comments.push(lines)
  }
  return {
    comments: comments.map(proseOf),
    commentLines: [...new Set(comments.flat().map(({ line }) => line))],
    strings: strings
      .filter(({ text }) => /\S\s+\S/.test(text))
      .map(({ position, text }) =>
        proseOf(text.split('\n').map((each, index) => ({ line: lineOf(position) + index, text: each }))),
      ),
  }
}

interface CommentLine {
  readonly line: number
  readonly text: string
  readonly isLine: boolean
}

interface CommentRange {
  readonly pos: number
  readonly end: number
  readonly isLine: boolean
}

interface Literals {
  readonly strings: readonly { readonly position: number; readonly text: string }[]
  /** Where a token begins that the scanner alone takes for a division or a brace. */
  readonly rescanned: ReadonlySet<number>
}

function readLiterals(source: ts.SourceFile): Literals {
  const strings: { position: number; text: string }[] = []
  const rescanned = new Set<number>()

  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node)) return
    if (ts.isStringLiteralLike(node)) {
      strings.push({ position: node.getStart(source), text: node.text })
    } else if (ts.isTemplateExpression(node)) {
      const pieces = [node.head.text, ...node.templateSpans.map(({ literal }) => literal.text)]
      strings.push({ position: node.getStart(source), text: pieces.join('…') })
      for (const { literal } of node.templateSpans) rescanned.add(literal.getStart(source))
    } else if (ts.isTemplateLiteralTypeNode(node)) {
      for (const { literal } of node.templateSpans) rescanned.add(literal.getStart(source))
    } else if (ts.isRegularExpressionLiteral(node)) {
      rescanned.add(node.getStart(source))
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  return { strings, rescanned }
}

function commentRanges(text: string, rescanned: ReadonlySet<number>): readonly CommentRange[] {
  const scanner = ts.createScanner(ts.ScriptTarget.Latest, false, ts.LanguageVariant.Standard, text)
  const ranges: CommentRange[] = []

  for (let token = scanner.scan(); token !== ts.SyntaxKind.EndOfFileToken; token = scanner.scan()) {
    if (token === ts.SyntaxKind.SingleLineCommentTrivia || token === ts.SyntaxKind.MultiLineCommentTrivia) {
      const isLine = token === ts.SyntaxKind.SingleLineCommentTrivia
      ranges.push({ pos: scanner.getTokenStart(), end: scanner.getTokenEnd(), isLine })
    } else if (rescanned.has(scanner.getTokenStart())) {
      if (token === ts.SyntaxKind.CloseBraceToken) scanner.reScanTemplateToken(false)
      else scanner.reScanSlashToken()
    }
  }
  return ranges
}

function linesOfComment(comment: string, firstLine: number): CommentLine[] {
  const isLine = comment.startsWith('//')
  const inside = isLine ? comment.replace(/^\/+/, '') : comment.slice(2, -2)
  return inside
    .split('\n')
    .map((text, index) => ({ line: firstLine + index, text: text.replace(/^\s*\*+/, ''), isLine }))
}
