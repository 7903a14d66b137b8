import { createRoot } from 'preact/compat/client';
import { App } from './app.tsx';
import { ServiceProvider } from './service.tsx';
import { getTheme, setTheme } from './theme.ts';
import './tokens.css';
import './page.css';

setTheme(getTheme());
const page = document.getElementById('page');
if (page) {
  createRoot(page).render(
    <ServiceProvider>
      <App />
    </ServiceProvider>,
  );
}
