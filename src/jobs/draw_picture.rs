//! Draws one picture: finds its words, looks at the budget, asks the service, keeps the file.

use super::{ATTEMPTS, Allowed, Jobs, files::FilesError};
use crate::{
    domain::{
        error::ApiError,
        id::PictureId,
        message::Role,
        picture::{PICTURES_OFF, Picture, PictureState, Wish, scene_prompt},
        timestamp::Timestamp,
    },
    providers::{Drawn, ProviderError, Undrawn},
    store::{Counted, Job, JobEnd, Link, StoreError, now},
};

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

impl Jobs {
    /// Draws a picture, if it is still wanted.
    pub(super) async fn draw_picture(&self, job: &Job, id: &PictureId) -> Result<JobEnd, ApiError> {
        let mut link = self.read(job).await?;
        let mut picture = match link.picture(id).await {
            Ok(picture) => picture,
            Err(StoreError::NotFound(_)) => return Ok(JobEnd::Done),
            Err(error) => return Err(error.into()),
        };
        match picture.state {
            PictureState::Done | PictureState::Failed => return Ok(JobEnd::Done),
            // One that is being drawn was left by a process that died.
            PictureState::Queued | PictureState::Drawing => {}
        }
        let before = link.counted(id).await?;
        if picture.deleted_at.is_some() {
            let reason = "It was deleted before it was made.";
            return self.give_up(job, &picture, before, reason).await;
        }
        if self.allowed == Allowed::No {
            return self.give_up(job, &picture, before, PICTURES_OFF).await;
        }
        if job.attempts > ATTEMPTS {
            return self.give_up(job, &picture, before, "It was tried too often.").await;
        }
        if picture.wish.prompt.is_empty() {
            picture.wish.prompt = match scene(&mut link, &picture).await {
                Ok(prompt) => prompt,
                Err(StoreError::NotFound(_)) => {
                    return self.give_up(job, &picture, before, "Its message is gone.").await;
                }
                Err(error) => return Err(error.into()),
            };
        }
        drop(link);
        let counted = match self.begin(job, &picture, before).await? {
            Ok(counted) => counted,
            Err(reason) => return Ok(JobEnd::Failed(reason)),
        };
        match self.artist.draw(&self.with_chance(&picture)).await {
            Ok(drawn) => self.keep(job, &picture, counted, drawn).await,
            // What the service is paid for counts, though nobody will see it.
            Err(Undrawn { error, paid: true }) => self.tell(job, &picture, counted, &error).await,
            Err(Undrawn { error, paid: false }) => self.tell(job, &picture, before, &error).await,
        }
    }

    /// Says that the picture is being drawn, and what it counts for from now on, unless the budget is used up:
    /// then it says that.
    async fn begin(
        &self,
        job: &Job,
        picture: &Picture,
        before: Counted,
    ) -> Result<Result<Counted, String>, ApiError> {
        let price = self.artist.price_micros(&picture.wish);
        let mut link = self.write(job).await?;
        link.lock_budget().await?;
        let settings = link.picture_settings().await?;
        let today = Timestamp(now().0 - now().0.rem_euclid(DAY_MS));
        let spent = link.spent_since(today, &picture.id).await?;
        let refused = settings.refuses(spent.made, spent.micros, price);
        let begun = match refused {
            Some(reason) => {
                link.miss_picture(picture, PictureState::Failed, Some(&reason), before).await?;
                Err(reason)
            }
            None => {
                let counted = before.and(price);
                link.begin_picture(picture, counted).await?;
                Ok(counted)
            }
        };
        link.commit().await?;
        Ok(begun)
    }

    /// What is asked of the artist. A service has its own chance; what we draw ourselves would else be the
    /// same again and again.
    fn with_chance(&self, picture: &Picture) -> Wish {
        let mut wish = picture.wish.clone();
        if self.artist.is_demo() && wish.seed.is_none() {
            let bytes = picture.id.as_str().bytes();
            wish.seed =
                Some(bytes.fold(17, |seed: u32, byte| {
                    seed.wrapping_mul(31).wrapping_add(u32::from(byte))
                }));
        }
        wish
    }

    async fn keep(
        &self,
        job: &Job,
        picture: &Picture,
        counted: Counted,
        drawn: Drawn,
    ) -> Result<JobEnd, ApiError> {
        let Drawn { file, facts } = drawn;
        if let Err(error) = self.files.put(&job.space, &picture.id, file).await {
            return self.not_kept(job, picture, counted, &error).await;
        }
        let mut link = self.write(job).await?;
        link.finish_picture(picture, &facts).await?;
        link.commit().await?;
        Ok(JobEnd::Done)
    }

    /// The file could not be kept: the picture is drawn anew, and paid for each time.
    async fn not_kept(
        &self,
        job: &Job,
        picture: &Picture,
        counted: Counted,
        error: &FilesError,
    ) -> Result<JobEnd, ApiError> {
        let end = self.again(job, error.to_string(), None);
        self.miss(job, picture, counted, &end, "The picture could not be kept.").await?;
        Ok(end)
    }

    /// The service gave no picture.
    async fn tell(
        &self,
        job: &Job,
        picture: &Picture,
        counted: Counted,
        error: &ProviderError,
    ) -> Result<JobEnd, ApiError> {
        let end = match error.fault.is_transient() {
            true => self.again(job, error.message.clone(), error.retry_after),
            false => JobEnd::Failed(error.message.clone()),
        };
        let told = error.tell(self.artist.label()).to_string();
        self.miss(job, picture, counted, &end, &told).await?;
        Ok(end)
    }

    async fn give_up(
        &self,
        job: &Job,
        picture: &Picture,
        counted: Counted,
        reason: &str,
    ) -> Result<JobEnd, ApiError> {
        let end = JobEnd::Failed(reason.into());
        self.miss(job, picture, counted, &end, reason).await?;
        Ok(end)
    }

    /// Says on the picture why it is not there yet, or will not be.
    async fn miss(
        &self,
        job: &Job,
        picture: &Picture,
        counted: Counted,
        end: &JobEnd,
        told: &str,
    ) -> Result<(), ApiError> {
        let state = match end {
            JobEnd::Again(..) => PictureState::Queued,
            JobEnd::Failed(_) | JobEnd::Done => PictureState::Failed,
        };
        let mut letters = told.chars();
        let told: String =
            letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect();
        let mut link = self.write(job).await?;
        link.miss_picture(picture, state, Some(&told), counted).await?;
        Ok(link.commit().await?)
    }
}

/// What a picture of a message shows: the persona that spoke, and what it said.
async fn scene(link: &mut Link, picture: &Picture) -> Result<String, StoreError> {
    let missing = || StoreError::NotFound("message");
    let message = link.message(picture.message_id.as_ref().ok_or_else(missing)?).await?;
    let fields = match (&message.run_id, &picture.persona_id) {
        (Some(run), _) => {
            let run = link.run(run).await?;
            link.persona_at(&run.persona_id, run.persona_revision).await?
        }
        (None, Some(persona)) => link.persona_head(persona).await?.fields,
        (None, None) => return Err(missing()),
    };
    let drawn = fields.roleplay_data.map(|data| data.appearance).unwrap_or_default();
    let appearance = if drawn.trim().is_empty() { fields.appearance } else { drawn };
    match message.role {
        Role::Assistant => Ok(scene_prompt(&fields.name, &appearance, &message.text())),
        Role::User => Err(missing()),
    }
}
