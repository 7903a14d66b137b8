/** The project's own HTML, CSS and JavaScript of the API documentation pages. */

/**
 * CSS of the documentation pages: the background, and the links to the other pages. Redoc always writes the selected kind
 * of a body in white, on the primary color, which is light in the dark theme.
 */
export const LINKS_STYLE = `:root { color-scheme: light dark }
body { margin: 0; background: light-dark(#ffffff, #171815) }
.pages { display: flex; gap: 1.5rem; padding: 0.6rem 1.25rem; font: 15px/1.4 system-ui, sans-serif; background: light-dark(#f6f4ef, #1f201d) }
.pages a { color: light-dark(#14605b, #7fcdc3) }
@media (prefers-color-scheme: dark) { #redoc span + div > button { background: #1f201d } }
`;

/**
 * Adds links to the dashboard and Redoc to the page of Swagger UI, whose HTML a library generates. The links are
 * relative, because a proxy may add a path prefix.
 */
export const DOCS_SCRIPT = `const links = document.createElement('nav');
links.className = 'pages';
links.setAttribute('aria-label', 'Pages');
const folder = location.pathname.endsWith('/') ? '../' : '';
for (const [path, text] of [['ui/', 'Dashboard'], ['redoc', 'Redoc']]) {
  const link = document.createElement('a');
  link.href = folder + path;
  link.textContent = text;
  links.append(link);
}
document.body.prepend(links);
`;

export const REDOC_PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>memoryd</title>
<link rel="icon" type="image/svg+xml" href="/docs/static/theme/icon.svg">
<link rel="stylesheet" href="/docs/static/theme/links.css">
</head>
<body>
<nav class="pages" aria-label="Pages"><a href="ui/">Dashboard</a><a href="docs">Swagger UI</a></nav>
<div id="redoc" data-spec-url="/openapi.json"></div>
<script src="/redoc/redoc.standalone.js"></script>
<script src="/redoc/page.js"></script>
</body>
</html>
`;

/** Redoc's dark theme. Redoc computes further colors from the theme's colors, so CSS variables do not work here. */
const DARK_THEME = {
  colors: {
    primary: { main: '#7fcdc3' },
    success: { main: '#8fd49a' },
    warning: { main: '#e5b567', contrastText: '#171815' },
    error: { main: '#f2998d' },
    gray: { 50: '#292a26', 100: '#373832' },
    border: { light: '#373832', dark: '#7d7e75' },
    text: { primary: '#ecebe4', secondary: '#b9b7ad' },
    responses: {
      success: { color: '#8fd49a', backgroundColor: '#1f3a26', tabTextColor: '#8fd49a' },
      error: { color: '#f2998d', backgroundColor: '#3a2421', tabTextColor: '#f2998d' },
      redirect: { color: '#e5b567', backgroundColor: '#362c1a', tabTextColor: '#e5b567' },
      info: { color: '#8fb4e8', backgroundColor: '#22303f', tabTextColor: '#8fb4e8' },
    },
  },
  schema: {
    linesColor: '#7d7e75',
    typeNameColor: '#b9b7ad',
    typeTitleColor: '#b9b7ad',
    requireLabelColor: '#f2998d',
    nestedBackground: '#232420',
    arrow: { color: '#b9b7ad' },
  },
  typography: {
    code: { color: '#f2998d', backgroundColor: '#292a26' },
    links: { color: '#7fcdc3', visited: '#7fcdc3', hover: '#a5ded7' },
  },
  sidebar: {
    backgroundColor: '#1f201d',
    textColor: '#ecebe4',
    activeTextColor: '#7fcdc3',
    groupItems: { activeBackgroundColor: '#292a26', activeTextColor: '#7fcdc3' },
    level1Items: { activeBackgroundColor: '#292a26', activeTextColor: '#7fcdc3' },
    arrow: { color: '#ecebe4' },
  },
  rightPanel: {
    backgroundColor: '#1b1c19',
    servers: { overlay: { backgroundColor: '#1f201d', textColor: '#ecebe4' }, url: { backgroundColor: '#292a26' } },
  },
  codeBlock: { backgroundColor: '#10110f' },
  fab: { backgroundColor: '#292a26', color: '#7fcdc3' },
};

/** Renders Redoc in the color scheme that the browser prefers. */
export const REDOC_SCRIPT = `const dark = matchMedia('(prefers-color-scheme: dark)');
// Redoc cannot change its theme after rendering.
dark.addEventListener('change', () => location.reload());
const theme = dark.matches ? ${JSON.stringify(DARK_THEME)} : {};
const element = document.getElementById('redoc');
Redoc.init(element.dataset.specUrl, { theme }, element);
`;
