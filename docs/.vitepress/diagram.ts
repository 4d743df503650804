import { renderMermaidSVG } from "beautiful-mermaid";

/** The site's own colours, so that a diagram is dark where the page is. */
const colours = { bg: "var(--vp-c-bg)", fg: "var(--vp-c-text-1)", muted: "var(--vp-c-text-2)", transparent: true };

/**
 * Draws a Mermaid diagram while the site is built, as an element for a page. A wide one scrolls by itself.
 *
 * @throws {Error} where the text is no diagram: the build fails then.
 */
export function drawDiagram(text: string): string {
  // The renderer asks a font of elsewhere, which the site brings along.
  const svg = renderMermaidSVG(text, colours).replace(/@import url\([^)]*\);/g, "");
  // Vue takes no <style> in a template.
  return `<div class="diagram" style="overflow-x: auto" tabindex="0" v-html="${escapeAttribute(JSON.stringify(svg))}"></div>`;
}

function escapeAttribute(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
