import ts from "typescript";
import { isBundled, parsePackageName } from "./bundled-packages.ts";

/** Names that compiled code imports from bundled packages, by specifier. `*` stands for all. */
export type ImportedNames = ReadonlyMap<string, ReadonlySet<string>>;

/** Finds the names that compiled JavaScript imports from bundled packages, so that nothing else of these is bundled. */
export function findImportedNames(texts: Iterable<string>): ImportedNames {
  const found = new Map<string, Set<string>>();
  const visit = (node: ts.Node): void => {
    const [specifier, names] = findImport(node);
    if (specifier !== undefined && isBundled(parsePackageName(specifier))) {
      found.set(specifier, new Set([...(found.get(specifier) ?? []), ...names]));
    }
    ts.forEachChild(node, visit);
  };
  for (const text of texts) visit(ts.createSourceFile("file.js", text, ts.ScriptTarget.ESNext, true, ts.ScriptKind.JS));
  return found;
}

type Imported = readonly [specifier: string | undefined, names: readonly string[]];

function findImport(node: ts.Node): Imported {
  if (ts.isImportDeclaration(node) && ts.isStringLiteral(node.moduleSpecifier)) {
    return [node.moduleSpecifier.text, listClauseNames(node.importClause)];
  }
  if (ts.isExportDeclaration(node) && node.moduleSpecifier !== undefined && ts.isStringLiteral(node.moduleSpecifier)) {
    const { exportClause } = node;
    const isNamed = exportClause !== undefined && ts.isNamedExports(exportClause);
    return [node.moduleSpecifier.text, isNamed ? exportClause.elements.map(getOuterName) : ["*"]];
  }
  if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
    const [argument] = node.arguments;
    if (argument !== undefined && ts.isStringLiteral(argument)) return [argument.text, listTakenNames(node)];
  }
  return [undefined, []];
}

function listClauseNames(clause: ts.ImportClause | undefined): readonly string[] {
  const bindings = clause?.namedBindings;
  const named = bindings !== undefined && ts.isNamedImports(bindings) ? bindings.elements.map(getOuterName) : [];
  const all = bindings !== undefined && ts.isNamespaceImport(bindings) ? ["*"] : [];
  return [...(clause?.name === undefined ? [] : ["default"]), ...named, ...all];
}

/** Returns the module's name for an import: `a`, of `a` and of `a as b`. */
function getOuterName({ name, propertyName }: ts.ImportSpecifier | ts.ExportSpecifier): string {
  return (propertyName ?? name).text;
}

/** Lists the names that `const { a, b } = await import("…")` takes; `*` for a dynamic import in any other form. */
function listTakenNames(call: ts.CallExpression): readonly string[] {
  const declaration = call.parent.parent;
  if (!ts.isAwaitExpression(call.parent) || !ts.isVariableDeclaration(declaration)) return ["*"];
  const { name } = declaration;
  if (!ts.isObjectBindingPattern(name)) return ["*"];
  return name.elements.map((element) => (element.propertyName ?? element.name).getText());
}
