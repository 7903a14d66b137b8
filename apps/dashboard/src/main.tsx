import { createRoot } from 'preact/compat/client';
import { App } from './app.tsx';
import { ServiceProvider } from './service.tsx';
import { chosenTheme, setTheme } from './theme.ts';
import './tokens.css';
import './page.css';

// `location` does not show the credentials of an address.
const address = new URL(document.baseURI);
if (address.username !== '' || address.password !== '') {
  // The page was opened with credentials for a proxy, which the browser sends from now on. `fetch` rejects URLs with
  // credentials, and the scripts of other views would import a second copy of this script, without credentials.
  address.username = '';
  address.password = '';
  location.replace(address);
} else {
  setTheme(chosenTheme.get());
  const page = document.getElementById('page');
  if (page) {
    createRoot(page).render(
      <ServiceProvider>
        <App />
      </ServiceProvider>,
    );
  }
}
